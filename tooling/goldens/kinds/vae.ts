import { openDevice } from "@vd/kernels-native";
import { compile, type Graph, Weights } from "@vd/tensor";
import { parseVaeConfig, posterior, type TemporalVae, temporalVae, type VaeConfig } from "@vd/vae-opt";
import type { Fixture, GoldenContext, GoldenKind, TensorCheck } from "../kind";
import { activationDtype, type Expectation, hooked, inGoldenOrder, runModel, withinLimits } from "../model-run";

type Shape4 = [number, number, number, number];

async function* encodeChecks(
  fixture: Fixture,
  context: GoldenContext,
  model: TemporalVae,
): AsyncGenerator<TensorCheck> {
  const [n, c, h, w] = fixture.shape("in.image") as Shape4;
  const build = (g: Graph) =>
    g.output("moments", model.encode(g, g.layoutIn({ x: g.input("image", [n, 1, c, h, w]) })));
  const inputs = { image: fixture.float32("in.image") };
  const expectations: Expectation[] = [
    ...encoderHooks(fixture, model.config),
    { golden: "out.moments", ours: "moments" },
  ];
  yield* runModel({ fixture, context, build, inputs, expectations });
  yield* posteriorChecks(fixture, context, build, inputs, model.config.latentChannels);
}

function encoderHooks(fixture: Fixture, { blockOutChannels }: VaeConfig): Expectation[] {
  const last = `encoder.down_blocks.${blockOutChannels.length - 1}`;
  const ours = (path: string) => path.replace("encoder.down_blocks.-1", last);
  return hooked(fixture)
    .filter((e) => e.golden.startsWith("out.enc."))
    .map((e) => ({ ...e, ours: ours(e.ours) }));
}

async function* posteriorChecks(
  fixture: Fixture,
  context: GoldenContext,
  build: (g: Graph) => void,
  inputs: Record<string, Float32Array>,
  channels: number,
): AsyncGenerator<TensorCheck> {
  const plan = await compile(openDevice(context.device), build, { dtype: activationDtype(context) });
  plan.writeSync("image", inputs.image!);
  await plan.run();
  const dims = plan.layout.graph.outputs.get("moments")!.dims;
  const { mode, std, sample } = posterior(plan.readSync("moments"), channels);
  plan.freeSync();
  const noise = fixture.float32("in.noise"); // (n,c,h,w)
  const [n, c, h, w] = fixture.shape("in.noise") as Shape4;
  const pixelNoise = noise.map((_, i) => {
    const [image, pixel, channel] = [Math.floor(i / (c * h * w)), Math.floor(i / c) % (h * w), i % c];
    return noise[(image * c + channel) * h * w + pixel]!;
  });
  const limits = fixture.json.tolerance[context.dtype];
  const picture = [...dims.slice(0, 4), channels];
  for (const [name, values] of Object.entries({ mode, std, sample: sample(pixelNoise) })) {
    const ours = inGoldenOrder(values, picture, name, 4);
    if (n > 0) yield* withinLimits(`out.${name}`, ours, fixture.float64(`out.${name}`), limits);
  }
}

/** Hooks of the decode `dec.<label>.` by module path. */
function decoderHooks(fixture: Fixture, label: string, { blockOutChannels }: VaeConfig): Expectation[] {
  const last = `decoder.up_blocks.${blockOutChannels.length - 1}`;
  return hooked(fixture, `dec.${label}.`).map((e) => ({ ...e, ours: e.ours.replace("decoder.up_blocks.-1", last) }));
}

async function* decodeChecks(
  fixture: Fixture,
  context: GoldenContext,
  model: TemporalVae,
  [batch, frames]: [number, number],
  chunkFrames?: number,
): AsyncGenerator<TensorCheck> {
  const label = `b${batch}f${frames}`;
  const [, c, h, w] = fixture.shape(`in.z.${label}`) as Shape4;
  const build = (g: Graph) => {
    const z = g.layoutIn({ x: g.input("z", [batch, frames, c, h, w]) });
    g.output("frames", model.decode(g, z, { chunkFrames }));
  };
  const hooks = chunkFrames === undefined ? decoderHooks(fixture, label, model.config) : [];
  const expectations = [...hooks, { golden: `out.dec.${label}`, ours: "frames" }];
  const checks = runModel({ fixture, context, build, inputs: { z: fixture.float32(`in.z.${label}`) }, expectations });
  for await (const check of checks)
    yield chunkFrames === undefined ? check : { ...check, name: `${check.name} in chunks of ${chunkFrames}` };
}

/** The autoencoder with temporal decoder: encode, posterior, decodes whole and in chunks. */
export const vaeKind: GoldenKind = {
  kind: "vae",
  async *run(fixture, context) {
    const weights = Weights.open(fixture.tensorsPath).scope("w");
    const model = temporalVae(weights, parseVaeConfig(fixture.json.config));
    yield* encodeChecks(fixture, context, model);
    for (const shape of fixture.json.case.dec as [number, number][]) {
      yield* decodeChecks(fixture, context, model, shape);
      if (shape[0] === 1 && shape[1] > 1) yield* decodeChecks(fixture, context, model, shape, 2);
    }
  },
};
