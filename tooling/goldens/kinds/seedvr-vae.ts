import { openDevice } from "@vd/kernels-native";
import { compile, type Graph, Weights } from "@vd/tensor";
import {
  CausalVideoAutoencoder,
  type CausalVideoVae,
  type Clip,
  causalVideoVae,
  parseCausalVaeConfig,
  posterior,
} from "@vd/vae-opt";
import type { Fixture, GoldenContext, GoldenKind, TensorCheck } from "../kind";
import { toPixels, toPlanes } from "../layout";
import { activationDtype, hooked, runModel, withinLimits } from "../model-run";

/** One of the fixture's clips on its way through the model. */
interface ClipCase {
  fixture: Fixture;
  context: GoldenContext;
  model: CausalVideoVae;
  clip: string;
  weights: Weights;
}

/** The smallest pieces: one latent after the other, and layers one frame after the other. */
const SMALLEST = { latentsPerRun: 1, framesAtOnce: 1, bytes: 0, hostBytes: 0 };

/** The modules' results that the fixture keeps, of encoder or decoder. */
function* hookChecks({ fixture, context, model, clip }: ClipCase, part: "enc" | "dec") {
  const expectations = hooked(fixture, `${clip}.`).filter(({ golden }) => golden.startsWith(`out.${clip}.${part}.`));
  const name = part === "enc" ? `in.${clip}.x` : `in.${clip}.z`;
  const { values, dims } = toPixels(fixture.float32(name), fixture.shape(name));
  const build = (g: Graph) => {
    const x = g.input("x", dims);
    g.output("y", part === "enc" ? model.encode(g, x) : model.decode(g, x));
  };
  const run = { fixture, context, build, inputs: { x: values }, expectations, framesInside: true };
  if (expectations.length > 0) yield runModel(run);
}

/** What encoder or decoder makes of the clip, as planes. */
async function resultOf({ fixture, context, model, clip }: ClipCase, part: "encode" | "decode") {
  const name = `in.${clip}.${part === "encode" ? "x" : "z"}`;
  const { values, dims } = toPixels(fixture.float32(name), fixture.shape(name));
  const build = (g: Graph) => g.output("y", model[part](g, g.input("x", dims)));
  const plan = await compile(openDevice(context.device), build, { dtype: activationDtype(context) });
  try {
    plan.writeSync("x", values);
    await plan.run();
    return { values: plan.readSync("y"), dims: plan.layout.graph.outputs.get("y")!.dims };
  } finally {
    plan.freeSync();
  }
}

async function* clipChecks(run: ClipCase): AsyncGenerator<TensorCheck> {
  const { fixture, context, clip, model } = run;
  const limits = fixture.json.tolerance[context.dtype];
  const golden = (label: string) => fixture.float64(`out.${clip}.${label}`);
  for (const hooks of hookChecks(run, "enc")) yield* hooks;
  const moments = await resultOf(run, "encode");
  const label = `out.${clip}.plain.moments`;
  yield* withinLimits(label, toPlanes(moments.values, moments.dims), golden("plain.moments"), limits);
  const channels = model.config.latentChannels;
  const noise = toPixels(fixture.float32(`in.${clip}.noise`), fixture.shape(`in.${clip}.noise`)).values;
  const sample = posterior(moments.values, channels).sample(noise);
  const planes = toPlanes(sample, [...moments.dims.slice(0, 4), channels]);
  yield* withinLimits(`out.${clip}.sample`, planes, golden("sample"), limits);
  for (const hooks of hookChecks(run, "dec")) yield* hooks;
  const frames = await resultOf(run, "decode");
  const decoded = `out.${clip}.plain.decoded`;
  yield* withinLimits(decoded, toPlanes(frames.values, frames.dims), golden("plain.decoded"), limits);
  yield* streamChecks(run);
}

/** The same clip as a stream of the smallest pieces: the same goldens. */
async function* streamChecks({ fixture, context, clip, weights }: ClipCase): AsyncGenerator<TensorCheck> {
  const config = parseCausalVaeConfig(fixture.json.config);
  const vae = await CausalVideoAutoencoder.fromWeights(weights, config, {
    device: context.device,
    ...(context.device === "cpu" ? {} : { dtype: context.dtype }),
  });
  const limits = fixture.json.tolerance[context.dtype];
  const clipOf = (name: string): Clip => {
    const { values, dims } = toPixels(fixture.float32(name), fixture.shape(name));
    return { values, dims: [dims[1], dims[2], dims[3], dims[4]] };
  };
  try {
    const { dims, mode } = await vae.encode(clipOf(`in.${clip}.x`), { plan: SMALLEST });
    const moments = fixture.float64(`out.${clip}.plain.moments`); // (1,2c,f,h,w): means first
    const means = moments.subarray(0, moments.length / 2);
    yield* withinLimits(`out.${clip}.plain.moments, streamed`, toPlanes(mode, [1, ...dims]), means, limits);
    const frames = await vae.decode(clipOf(`in.${clip}.z`), { plan: SMALLEST });
    const golden = fixture.float64(`out.${clip}.plain.decoded`);
    const label = `out.${clip}.plain.decoded, streamed`;
    yield* withinLimits(label, toPlanes(frames.values, [1, ...frames.dims]), golden, limits);
  } finally {
    await vae.close();
  }
}

/** SeedVR2's causal autoencoder: encode, posterior and decode, whole and streamed. */
export const seedvrVaeKind: GoldenKind = {
  kind: "seedvr_vae",
  async *run(fixture, context) {
    const weights = Weights.open(fixture.tensorsPath).scope("w");
    const model = causalVideoVae(weights, parseCausalVaeConfig(fixture.json.config));
    weights.expectAllUsed();
    for (const clip of Object.keys(fixture.json.case.clips))
      yield* clipChecks({ fixture, context, model, clip, weights });
  },
};
