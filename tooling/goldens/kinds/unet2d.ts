import { openDevice } from "@vd/kernels-native";
import {
  allocateFrameMemory,
  type LiveModel,
  openLiveModel,
  parseUnet2dConfig,
  preconditioning,
  recordFrame,
  type Unet2d,
  unet2d,
  writeContext,
} from "@vd/live";
import { channelRange, type Graph, layoutGraph, Plan, tokens, Weights } from "@vd/tensor";
import { maxAbs } from "../compare";
import type { Fixture, GoldenContext, GoldenKind, TensorCheck } from "../kind";
import { toPixels, toPlanes } from "../layout";
import { modelFolder } from "../model-folder";
import { runModel, withinLimits } from "../model-run";

/** One-hot rows of class labels. */
const oneHot = (labels: ArrayLike<number>, classes: number): Float32Array => {
  const rows = new Float32Array(labels.length * classes);
  for (let i = 0; i < labels.length; i++) rows[i * classes + labels[i]!] = 1;
  return rows;
};

/** One call of a network with every module's result that is stored. */
async function* networkChecks(
  fixture: Fixture,
  context: GoldenContext,
  name: string,
  net: Unet2d,
): AsyncGenerator<TensorCheck> {
  const [batch, channels, height, width] = fixture.shape(`${name}.in.sample`) as [number, number, number, number];
  const { numClassEmbeds } = net.config;
  const build = (g: Graph) => {
    const sample = g.layoutIn({ x: g.input("sample", [batch, 1, channels, height, width]) });
    const timestep = g.input("timestep", [batch, 1], "f32");
    const classes = numClassEmbeds > 0 ? g.input("classes", [batch, 1, 1, numClassEmbeds]) : undefined;
    g.output("sample", net.forward(g, { sample, embedding: net.embed(g, { timestep, classes }) }));
  };
  const inputs: Record<string, ArrayLike<number>> = {
    sample: fixture.float32(`${name}.in.sample`),
    timestep: fixture.float32(`${name}.in.timestep`),
  };
  if (numClassEmbeds > 0) inputs.classes = oneHot(fixture.float64(`${name}.in.class_labels`), numClassEmbeds);
  const prefix = `${name}.out.`;
  const expectations = fixture.names
    .filter((golden) => golden.startsWith(prefix))
    .map((golden) => ({ golden, ours: golden.slice(prefix.length) }));
  yield* runModel({ fixture, context, build, inputs, expectations });
}

/** One denoising of the trained model, with EDM's preconditioning: D(x; sigma). */
async function* denoisingChecks(
  fixture: Fixture,
  context: GoldenContext,
  { info, network }: LiveModel,
): AsyncGenerator<TensorCheck> {
  const [channels, height, width] = fixture.shape("rollout.in.context").slice(1) as [number, number, number];
  const [sigma] = fixture.float32("denoise.in.sigma") as unknown as [number];
  const { skip, out, input, timestep } = preconditioning(sigma, info.sigmaData);
  const build = (g: Graph) => {
    const x = g.layoutIn({ x: g.input("x", [1, 1, 3, height, width]) });
    const frames = g.layoutIn({ x: g.input("context", [1, 1, channels, height, width]), scale: 1 / info.sigmaData });
    const sample = g.empty([1, 1, height, width, 3 + channels]);
    g.pointwise({ a: tokens(x), aScale: input, out: tokens(channelRange(sample, 0, 3)) });
    g.pointwise({ a: tokens(frames), out: tokens(channelRange(sample, 3, 3 + channels)) });
    const classes = g.input("classes", [1, 1, 1, info.actions.length]);
    const embedding = network.embed(g, { timestep: g.constant(Float32Array.of(timestep), [1, 1]), classes });
    const epilogue = { outScale: out, residual: x, residualScale: skip };
    g.output("denoised", network.forward(g, { sample, embedding, epilogue }));
  };
  const inputs = {
    x: fixture.float32("denoise.in.x"),
    context: fixture.float32("rollout.in.context"),
    classes: oneHot(fixture.float64("denoise.in.class_labels"), info.actions.length),
  };
  yield* runModel({
    fixture,
    context,
    build,
    inputs,
    expectations: [{ golden: "denoise.out.denoised", ours: "denoised" }],
  });
}

/** A game of many frames, each by the session's own program: what the network makes comes back as its context. */
async function* rolloutChecks(
  fixture: Fixture,
  { device: kind, dtype }: GoldenContext,
  model: LiveModel,
): AsyncGenerator<TensorCheck> {
  const { info, network } = model;
  const { width, height, contextFrames, actions } = info;
  const device = openDevice(kind);
  const features = network.deepFeatures(1, height, width);
  const memory = await allocateFrameMemory(device, { width, height, contextFrames, actions: actions.length, features });
  const program = {
    steps: fixture.shape("rollout.in.sigmas")[0]!,
    deep: "none",
    guard: { renoise: false, hold: false },
    change: false,
    drift: false,
  } as const;
  const plan = await Plan.load(
    device,
    layoutGraph((g) => recordFrame(g, model, memory, program)),
  );
  const pixels = 3 * width * height;
  const inPlanes = (values: ArrayLike<number>) => toPlanes(values, [1, 1, height, width, 3]);
  const limits = fixture.json.tolerance[dtype];
  try {
    yield maxAbs("rollout.in.sigmas", info.sigmas.get(program.steps)!, fixture.float64("rollout.in.sigmas"), 1e-6);
    const start = toPixels(fixture.float32("rollout.in.context"), [1, 3 * contextFrames, height, width]);
    writeContext(memory, start.values);
    const noise = fixture.float32("rollout.in.noise");
    const rows = oneHot(fixture.float64("rollout.in.actions"), actions.length);
    const [levels, floats] = [fixture.float64("rollout.out.frames_u8"), fixture.float64("rollout.out.frames")];
    const kept: number[] = fixture.json.cases.rollout.frames_kept_as_float;
    for (let frame = 0; frame < levels.length / pixels; frame++) {
      memory.noise.buffer.writeSync(noise.subarray(frame * pixels, (frame + 1) * pixels));
      memory.action.buffer.writeSync(rows.subarray(frame * actions.length, (frame + 1) * actions.length));
      await plan.run();
      const picture = inPlanes(memory.picture.buffer.readSync(new Uint8Array(pixels)));
      const golden = levels.subarray(frame * pixels, (frame + 1) * pixels);
      yield maxAbs(
        `rollout.out.frames_u8[${frame}]`,
        picture,
        golden,
        fixture.json.tolerance.rollout_float32.u8_max_difference,
      );
      const at = kept.indexOf(frame);
      if (at < 0) continue;
      const newest = inPlanes(memory.newest.buffer.readSync(new Float32Array(pixels)));
      yield* withinLimits(
        `rollout.out.frames[${frame}]`,
        newest,
        floats.subarray(at * pixels, (at + 1) * pixels),
        limits,
      );
    }
  } finally {
    await plan.free();
    await memory.free();
  }
}

/** diffusers' UNet2DModel: the trained tiny-live, networks of other shapes, and a game of many frames. */
export const unet2dKind: GoldenKind = {
  kind: "unet2d",
  cannotRun: (_, { device, dtype }) =>
    device === "cuda" && dtype !== "float32" ? "a session's programs are float32" : undefined,
  async *run(fixture: Fixture, context: GoldenContext): AsyncGenerator<TensorCheck> {
    for (const [name, { config }] of Object.entries<{ config?: Record<string, unknown> }>(fixture.json.cases)) {
      if (!config) continue;
      const weights = Weights.open(fixture.tensorsPath).scope(`${name}.w`);
      yield* networkChecks(fixture, context, name, unet2d(weights, parseUnet2dConfig(config)));
      weights.expectAllUsed();
    }
    const model = await openLiveModel(modelFolder(fixture));
    for (const name of ["unet_crop", "unet_full"]) yield* networkChecks(fixture, context, name, model.network);
    yield* denoisingChecks(fixture, context, model);
    yield* rolloutChecks(fixture, context, model);
  },
};
