import { dirname, join } from "node:path";
import { openComponentWeights } from "@vd/hub";
import { openDevice } from "@vd/kernels-native";
import {
  clipText,
  DiffusionBatches,
  openDiffusionModel,
  openTokenizer,
  PictureEngine,
  parseClipTextConfig,
  parseUnet2dConditionConfig,
  type Unet2dCondition,
  unet2dCondition,
} from "@vd/live";
import { type Graph, runAtOnce, Weights } from "@vd/tensor";
import { openTiny, parsePictureVaeConfig, pictureVae, tinyDecoder, tinyEncoder } from "@vd/vae-opt";
import type { Fixture, GoldenContext, GoldenKind, TensorCheck } from "../kind";
import { toPixels, toPlanes } from "../layout";
import { runModel, withinLimits } from "../model-run";

const folderOf = (fixture: Fixture) => join(dirname(fixture.jsonPath), fixture.json.meaning.model);

/** A network of the model's folder, or one whose weights lie in the fixture. */
function weightsOf(fixture: Fixture, name: string, component: string): Weights {
  if (fixture.names.some((tensor) => tensor.startsWith(`${name}.w.`)))
    return Weights.open(fixture.tensorsPath).scope(`${name}.w`);
  return runAtOnce(openComponentWeights(folderOf(fixture), component, "fp16")).weights;
}

async function* tokenizerChecks(fixture: Fixture): AsyncGenerator<TensorCheck> {
  const tokenizer = await openTokenizer(join(folderOf(fixture), "tokenizer"), 77);
  for (const [i, { prompt, tokens }] of fixture.json.cases.tokenizer.entries()) {
    const ours = tokenizer.encode(prompt);
    const differing = ours.findIndex((token, place) => token !== tokens[place]);
    const ok = differing < 0 && ours.length === tokens.length;
    const note = ok ? undefined : `token ${differing} of ${JSON.stringify(prompt)}: ${ours[differing]}`;
    yield { name: `tokenizer[${i}]`, metric: "exact", error: ok ? 0 : 1, tolerance: 0, ok, ...(note && { note }) };
  }
}

async function* textChecks(fixture: Fixture, context: GoldenContext, name: string): AsyncGenerator<TensorCheck> {
  const { config: json, tokens } = fixture.json.cases[name];
  const weights = weightsOf(fixture, name, "text_encoder");
  const model = clipText(weights, parseClipTextConfig(json));
  const { maxTokens, hiddenSize } = model.config;
  const build = (g: Graph) => g.output("states", model.encode(g, g.input("x", [1, 1, maxTokens, hiddenSize])));
  const expectations = [{ golden: `${name}.out.states`, ours: "states" }];
  yield* runModel({ fixture, context, build, inputs: { x: model.embed(tokens) }, expectations });
  weights.expectAllUsed();
}

/** Records a call of the network with all that it is told. */
function recordCall(g: Graph, net: Unet2dCondition, fixture: Fixture, name: string): void {
  const [frames, channels, height, width] = fixture.shape(`${name}.in.sample`) as [number, number, number, number];
  const [, length, contextChannels] = fixture.shape(`${name}.in.states`) as [number, number, number];
  const sample = g.layoutIn({ x: g.input("sample", [1, frames, channels, height, width]) });
  const text = g.empty([1, frames, length, net.widths.text]);
  net.conditionText(g, g.input("states", [1, frames, length, contextChannels]), text);
  const time = g.empty([1, frames, 1, net.widths.time]);
  const { guidanceChannels } = net.config;
  const guidance = guidanceChannels ? g.input("guidance", [1, frames, 1, guidanceChannels]) : undefined;
  net.conditionTime(g, { timestep: g.input("timestep", [1, frames], "f32"), guidance }, time);
  g.output("sample", net.forward(g, { sample, time, text }));
}

async function* unetChecks(fixture: Fixture, context: GoldenContext, name: string): AsyncGenerator<TensorCheck> {
  const weights = weightsOf(fixture, name, "unet");
  const net = unet2dCondition(weights, parseUnet2dConditionConfig(fixture.json.cases[name].config));
  const inputs = Object.fromEntries(
    fixture.names
      .filter((tensor) => tensor.startsWith(`${name}.in.`))
      .map((tensor) => [tensor.slice(`${name}.in.`.length), fixture.float32(tensor)]),
  );
  const build = (g: Graph) => recordCall(g, net, fixture, name);
  yield* runModel({
    fixture,
    context,
    build,
    inputs,
    expectations: [{ golden: `${name}.out.sample`, ours: "sample" }],
  });
  weights.expectAllUsed();
}

async function* autoencoderChecks(fixture: Fixture, context: GoldenContext): AsyncGenerator<TensorCheck> {
  const folder = folderOf(fixture);
  const weights = weightsOf(fixture, "vae", "vae");
  const json = fixture.json.cases.vae.config;
  const vae = pictureVae(weights, parsePictureVaeConfig(json));
  const { encoder, decoder } = await openTiny(join(folder, "tiny_vae"));
  const [encode, decode] = [
    tinyEncoder(encoder!.weights, encoder!.layers),
    tinyDecoder(decoder!.weights, decoder!.layers),
  ];
  const build = (g: Graph) => {
    const read = (name: string) => {
      const [, channels, height, width] = fixture.shape(`vae.in.${name}`) as [number, number, number, number];
      return g.layoutIn({ x: g.input(name, [1, 1, channels, height, width]) });
    };
    const [picture, latents] = [read("picture"), read("latents")];
    g.output("vae.moments", vae.encode(g, picture));
    g.output("vae.picture", vae.decode(g, latents));
    g.output("tiny.latents", encode(g, picture));
    g.output("tiny.picture", decode(g, latents));
  };
  const inputs = { picture: fixture.float32("vae.in.picture"), latents: fixture.float32("vae.in.latents") };
  const expectations = ["vae.moments", "vae.picture", "tiny.latents", "tiny.picture"].map((ours) => ({
    golden: ours.replace(".", ".out."),
    ours,
  }));
  yield* runModel({ fixture, context, build, inputs, expectations });
  weights.expectAllUsed();
}

/** A stream of pictures through all parts by the session's own engine: frames as they are shown, and latents on their way. */
async function* streamChecks(fixture: Fixture, context: GoldenContext, name: string): AsyncGenerator<TensorCheck> {
  const { mode, guidance: guidanceScale, delta, steps, strength, seed, prompt, negative } = fixture.json.cases[name];
  const model = await openDiffusionModel(folderOf(fixture));
  const [count, , height, width] = fixture.shape("stream.in.pictures") as [number, number, number, number];
  const batches = new DiffusionBatches({
    ...{ model, device: openDevice(context.device), width, height, seed, guidance: mode, change: false },
    conditions: { prompt, negativePrompt: negative, strength, guidanceScale, delta },
  });
  // The fixture's pictures lie between levels.
  const engine = await PictureEngine.open({ batches, width, height, change: false, pictures: "numbers" });
  const [pictures, golden] = [fixture.float32("stream.in.pictures"), fixture.float64(`${name}.out.frames`)];
  const size = 3 * height * width;
  const limits = fixture.json.tolerance[`stream_${context.dtype}`];
  const request = { steps, action: 0, drift: false, deep: "none", timing: false, into: new Uint8Array(size) } as const;
  try {
    for (let i = 0; i < count; i++) {
      const picture = pictures.subarray(i * size, (i + 1) * size);
      engine.pushNumbers(toPixels(picture, [1, 3, height, width]).values, 1);
      await engine.make(request);
      const { context: state } = await engine.save(steps);
      // The newest frame stands before its part and a flag.
      const frame = toPlanes(state.subarray(state.length - 2 - size, state.length - 2), [1, 1, height, width, 3]);
      const shown = golden.subarray(i * size, (i + 1) * size).map((value) => Math.min(Math.max(value, -1), 1));
      yield* withinLimits(`${name}.out.frames[${i}]`, frame, shown, limits);
      if (i < count - 1 || !fixture.has(`${name}.out.buffer`)) continue;
      const [rows, channels, h, w] = fixture.shape(`${name}.out.buffer`) as [number, number, number, number];
      const waiting = toPlanes(state.subarray(0, rows * channels * h * w), [rows, 1, h, w, channels]);
      yield* withinLimits(`${name}.out.buffer`, waiting, fixture.float64(`${name}.out.buffer`), limits);
    }
  } finally {
    await engine.free();
  }
}

/** Stable Diffusion's networks, tokenizer and autoencoders, and streams of pictures through all of them. */
export const stableDiffusionKind: GoldenKind = {
  kind: "stable-diffusion",
  async *run(fixture: Fixture, context: GoldenContext): AsyncGenerator<TensorCheck> {
    yield* tokenizerChecks(fixture);
    for (const name of ["text_sd1", "text_sd2"]) yield* textChecks(fixture, context, name);
    for (const name of ["unet_sd1", "unet_sd2"]) yield* unetChecks(fixture, context, name);
    yield* autoencoderChecks(fixture, context);
    // A stream computes in float16 on a GPU, in float32 on the CPU.
    if (context.device === "cuda" && context.dtype !== "float16") return;
    for (const name of Object.keys(fixture.json.cases).filter((key) => key.startsWith("stream_")))
      yield* streamChecks(fixture, context, name);
  },
};
