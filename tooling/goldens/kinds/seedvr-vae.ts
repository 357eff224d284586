import { openDevice } from "@vd/kernels-native";
import { compile, type Graph, Weights } from "@vd/tensor";
import { type CausalVideoVae, causalVideoVae, parseCausalVaeConfig, posterior } from "@vd/vae-opt";
import type { Fixture, GoldenContext, GoldenKind, TensorCheck } from "../kind";
import { toPixels, toPlanes } from "../layout";
import { activationDtype, hooked, runModel, withinLimits } from "../model-run";

/** One of the fixture's clips on its way through the model. */
interface ClipCase {
  fixture: Fixture;
  context: GoldenContext;
  model: CausalVideoVae;
  clip: string;
}

/** Frames that layers compute at a time in the run that must give the same result with less memory. */
const FRAMES_AT_ONCE = 1;

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
async function resultOf({ fixture, context, model, clip }: ClipCase, part: "encode" | "decode", framesAtOnce?: number) {
  const name = `in.${clip}.${part === "encode" ? "x" : "z"}`;
  const { values, dims } = toPixels(fixture.float32(name), fixture.shape(name));
  const build = (g: Graph) => g.output("y", model[part](g, g.input("x", dims), { framesAtOnce }));
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
  for (const framesAtOnce of [undefined, FRAMES_AT_ONCE]) {
    const frames = await resultOf(run, "decode", framesAtOnce);
    const name = `out.${clip}.plain.decoded${framesAtOnce ? `, ${framesAtOnce} at a time` : ""}`;
    yield* withinLimits(name, toPlanes(frames.values, frames.dims), golden("plain.decoded"), limits);
  }
  const again = await resultOf(run, "encode", FRAMES_AT_ONCE);
  const name = `${label}, ${FRAMES_AT_ONCE} at a time`;
  yield* withinLimits(name, toPlanes(again.values, again.dims), golden("plain.moments"), limits);
}

/** SeedVR2's causal autoencoder: encode, posterior and decode, whole and a frame at a time. */
export const seedvrVaeKind: GoldenKind = {
  kind: "seedvr_vae",
  async *run(fixture, context) {
    const weights = Weights.open(fixture.tensorsPath).scope("w");
    const model = causalVideoVae(weights, parseCausalVaeConfig(fixture.json.config));
    weights.expectAllUsed();
    for (const clip of Object.keys(fixture.json.case.clips)) yield* clipChecks({ fixture, context, model, clip });
  },
};
