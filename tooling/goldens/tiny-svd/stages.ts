import type { Device } from "@vd/kernels-native";
import {
  clipPixelValues,
  conditionStage,
  createSampler,
  decodeStage,
  denoiseStage,
  embedImageStage,
  encodeImageStage,
  linearGuidance,
  type ModelComponents,
  type Models,
  type SamplerState,
  type StageDefinition,
  type StageShape,
  vaeInput,
} from "@vd/svd-pipeline";
import { frameChunks, layoutGraph, Plan } from "@vd/tensor";
import { posterior } from "@vd/vae-opt";
import { maxAbs, relativeL2 } from "../compare";
import type { Fixture, TensorCheck } from "../kind";
import type { RunSettings } from "../kinds/tiny-svd";
import { inGoldenOrder, repeated } from "../model-run";

/** Relative L2 that float32 stages stay within; the reference's own GPU run differs from its CPU run by less. */
const STAGE_LIMIT = 1e-5;
/** The denoiser's output is ill-conditioned at the smallest noise level: there float32 runs with other summation orders
 *  (our own instruction sets among themselves, too) differ by 1e-5. */
const DENOISER_LIMIT = 5e-5;
/** Latents are at most 700 · 5 at first; the reference's GPU run differs by 1.9e-5 at the end. */
const LATENT_LIMIT = 5e-5;

/** What the checks of all stages share. */
export interface StageChecks {
  fixture: Fixture;
  settings: RunSettings;
  components: ModelComponents;
  models: Models;
  factor: number;
  device: Device;
}

async function runStage(
  device: Device,
  stage: StageDefinition,
  inputs: Record<string, ArrayLike<number>>,
  taps?: Set<string>,
) {
  const plan = await Plan.load(device, layoutGraph(stage.build, taps ? { taps } : {}));
  for (const [name, data] of Object.entries(inputs)) plan.writeSync(name, data);
  await plan.run();
  return plan;
}

/** One output of a stage, in golden order if it is a picture. */
async function outputOf(
  device: Device,
  stage: StageDefinition,
  inputs: Record<string, ArrayLike<number>>,
  name: string,
) {
  const plan = await runStage(device, stage, inputs);
  const values = inGoldenOrder(plan.readSync(name), plan.layout.graph.outputs.get(name)!.dims, name, 4);
  plan.freeSync();
  return values;
}

/** Every stage on the reference's inputs, in the order of a generation. */
export async function* checkStages(checks: StageChecks): AsyncGenerator<TensorCheck> {
  const { settings, factor } = checks;
  const shape: StageShape = {
    numFrames: settings.num_frames,
    width: settings.width,
    height: settings.height,
    factor,
    rows: settings.max_guidance_scale > 1 ? 2 : 1,
    decodeChunk: undefined,
  };
  yield* imageChecks(checks);
  yield* encodeChecks(checks, shape);
  yield* samplingChecks(checks);
  for (const call of ["first", "last"]) yield* denoiserChecks(checks, shape, call);
  yield* decodeChecks(checks, shape);
}

async function* imageChecks({ fixture, components, settings }: StageChecks): AsyncGenerator<TensorCheck> {
  const picture = (name: string) => {
    const [height, width] = fixture.shape(name) as [number, number, number];
    return { width, height, data: fixture.bytes(name) };
  };
  const pairs = [
    ["image_u8", "clip.pixel_values", "vae.image"],
    ["resize.image_u8", "resize.clip_pixel_values", "resize.vae_image"],
  ] as const;
  for (const [name, clip, vae] of pairs) {
    if (!fixture.has(name)) continue;
    yield maxAbs(clip, await clipPixelValues(picture(name), components.clipPixels), fixture.float64(clip), 2e-4);
    yield maxAbs(vae, await vaeInput(picture(name), settings.width, settings.height), fixture.float64(vae), 0);
  }
}

async function* encodeChecks(
  { fixture, device, models, components }: StageChecks,
  shape: StageShape,
): AsyncGenerator<TensorCheck> {
  const pixels = fixture.float32("clip.pixel_values");
  const embedding = await outputOf(
    device,
    embedImageStage(models, components.clipPixels.size),
    { pixels },
    "embedding",
  );
  yield relativeL2("clip.image_embeds", embedding, fixture.float64("clip.image_embeds"), STAGE_LIMIT);
  const image = fixture.float32("vae.encode_input");
  const plan = await runStage(device, encodeImageStage(models, shape), { image });
  const moments = plan.readSync("moments");
  const dims = plan.layout.graph.outputs.get("moments")!.dims;
  plan.freeSync();
  const channels = models.vae.config.latentChannels;
  const golden = fixture.float64("vae.moments");
  yield relativeL2("vae.moments", inGoldenOrder(moments, dims, "", 4), golden, STAGE_LIMIT);
  const mode = inGoldenOrder(posterior(moments, channels).mode, [...dims.slice(0, 4), channels], "", 4);
  yield relativeL2("image_latents", mode, fixture.float64("image_latents"), STAGE_LIMIT);
}

function* samplingChecks({ fixture, settings, components }: StageChecks): Generator<TensorCheck> {
  const sampler = createSampler(components.scheduler, { steps: settings.num_inference_steps });
  const { min_guidance_scale: min, max_guidance_scale: max, num_frames: frames } = settings;
  yield relativeL2("scheduler.sigmas", sampler.sigmas, fixture.float64("scheduler.sigmas"), 2e-6);
  yield maxAbs("scheduler.timesteps", sampler.timesteps, fixture.float64("scheduler.timesteps"), 1e-5);
  yield relativeL2(
    "scheduler.init_noise_sigma",
    [sampler.initNoiseSigma],
    fixture.float64("scheduler.init_noise_sigma"),
    1e-6,
  );
  yield maxAbs("guidance", linearGuidance(min, max, frames), fixture.float64("guidance"), 1e-6);
  const scale = Math.fround(sampler.initNoiseSigma);
  const first = fixture.float32("noise.latents").map((value) => value * scale);
  yield relativeL2("latents.init", first, fixture.float64("latents.init"), 1e-6);
}

/** Module paths whose outputs are stored, of the conditional row's first and last frame where they have frames. */
const traced = (fixture: Fixture) =>
  fixture.names.filter((name) => name.startsWith("trace.")).map((name) => name.slice(6));

async function* denoiserChecks(checks: StageChecks, shape: StageShape, call: string): AsyncGenerator<TensorCheck> {
  const { fixture, device, models } = checks;
  const stored = (name: string) => fixture.float32(`unet.${call}.${name}`);
  const conditioned = await runStage(device, conditionStage(models, shape), {
    context: stored("encoder_hidden_states"),
  });
  const constants = { cross: conditioned.readSync("cross"), frames: conditioned.readSync("frames") };
  conditioned.freeSync();
  const { build, inputs } = rawCall(models, shape, fixture, call, constants);
  const taps = new Set(call === "first" ? traced(fixture) : []);
  const plan = await runStage(device, { name: "denoise", build }, inputs, taps);
  const { graph } = plan.layout;
  for (const path of graph.outputs.keys()) {
    if (!taps.has(path)) continue;
    const dims = graph.outputs.get(path)!.dims;
    const values = inGoldenOrder(plan.readSync(path), dims, path, dims.length === 5 ? 4 : 2);
    const golden = fixture.float64(`trace.${path}`);
    yield relativeL2(`trace.${path}`, tracedPart(values, dims, golden.length), golden, STAGE_LIMIT);
  }
  yield relativeL2(
    `unet.${call}.output`,
    plan.readSync("prediction"),
    fixture.float64(`unet.${call}.output`),
    DENOISER_LIMIT,
  );
  plan.freeSync();
}

/** First and last frame of the last row; tensors without frames whole, repeated to the golden's `goldenLength`. */
function tracedPart(values: Float32Array, dims: readonly number[], goldenLength: number): Float32Array {
  if (dims.length !== 5) return repeated(values, goldenLength);
  const [rows, frames] = dims as [number, number];
  const length = values.length / (rows * frames);
  const start = (rows - 1) * frames;
  const part = new Float32Array(2 * length);
  part.set(values.subarray(start * length, (start + 1) * length));
  part.set(values.subarray((start + frames - 1) * length, (start + frames) * length), length);
  return part;
}

/** The denoiser alone on a stored, already scaled and concatenated input. */
function rawCall(
  models: Models,
  { rows, numFrames }: StageShape,
  fixture: Fixture,
  call: string,
  constants: { cross: Float32Array; frames: Float32Array },
) {
  const stored = (name: string) => fixture.float32(`unet.${call}.${name}`);
  const build: StageDefinition["build"] = (g) => {
    const sample = g.layoutIn({ x: g.input("sample", fixture.shape(`unet.${call}.sample`)) });
    const vectors = g.input("cross", [rows, 1, 1, models.unet.crossWidth]);
    const frames = g.input("frames", [1, numFrames, 1, models.unet.framesWidth]);
    const timestep = g.input("timestep", [1, 1], "f32");
    const addedTimeIds = g.input("addedTimeIds", [rows, 3], "f32");
    const conditioning = { cross: { kind: "folded" as const, vectors }, frames };
    g.output(
      "prediction",
      g.layoutOut({ x: models.unet.forward(g, { sample, timestep, addedTimeIds, conditioning }) }),
    );
  };
  const inputs = {
    sample: stored("sample"),
    timestep: stored("timestep"),
    addedTimeIds: stored("added_time_ids"),
    ...constants,
  };
  return { build, inputs };
}

async function* decodeChecks(checks: StageChecks, shape: StageShape): AsyncGenerator<TensorCheck> {
  const { fixture, device, models, settings } = checks;
  yield* trajectoryChecks(checks, shape);
  // The stage divides by the scaling factor; the stored input is already divided.
  const scale = models.vae.config.scalingFactor;
  const latents = fixture.float32("vae.decode_input").map((value) => value * scale);
  const perFrame = latents.length / shape.numFrames;
  const parts: Float32Array[] = [];
  for (const [begin, end] of frameChunks(shape.numFrames, settings.decode_chunk_size)) {
    const part = latents.subarray(begin * perFrame, end * perFrame);
    parts.push(await outputOf(device, decodeStage(models, shape, end - begin), { latents: part }, "frames"));
  }
  const frames = Float32Array.from(parts.flatMap((part) => [...part]));
  yield relativeL2("frames.raw", frames, fixture.float64("frames.raw"), STAGE_LIMIT);
}

/** The whole trajectory from the reference's first latents, compared after every step. */
async function* trajectoryChecks(checks: StageChecks, shape: StageShape): AsyncGenerator<TensorCheck> {
  const { fixture, device, models, components, settings } = checks;
  const sampler = createSampler(components.scheduler, { steps: settings.num_inference_steps });
  const rows = shape.rows;
  const embedding = fixture.float32("clip.image_embeds");
  const context = new Float32Array(rows * embedding.length);
  context.set(embedding, (rows - 1) * embedding.length);
  const conditioned = await runStage(device, conditionStage(models, shape), { context });
  const golden = fixture.float64("latents.steps");
  const plan = await Plan.load(device, layoutGraph(denoiseStage(models, shape).build));
  const ids = [settings.fps - 1, settings.motion_bucket_id, settings.noise_aug_strength];
  plan.writeSync("image", pixelsOf(fixture));
  plan.writeSync("cross", conditioned.readSync("cross"));
  plan.writeSync("frames", conditioned.readSync("frames"));
  plan.writeSync(
    "addedTimeIds",
    Array.from({ length: 3 * rows }, (_, i) => ids[i % 3]!),
  );
  if (rows === 2) plan.writeSync("guidance", fixture.float32("guidance"));
  let x = fixture.float32("latents.init");
  let state: SamplerState | undefined;
  for (let call = 0; call < sampler.numModelCalls; call++) {
    plan.writeSync("latents", x);
    plan.writeSync("inputScale", [sampler.inputScale(call)]);
    plan.writeSync("timestep", [sampler.modelTimestep(call)]);
    await plan.run();
    const result = sampler.step(call, { x, modelOutput: plan.readSync("prediction"), state });
    x = result.x;
    state = result.state;
    const expected = golden.subarray(call * x.length, (call + 1) * x.length);
    yield relativeL2(`latents.steps[${call}]`, x, expected, LATENT_LIMIT);
  }
  plan.freeSync();
  conditioned.freeSync();
}

/** The stored picture latents, (1,C,h,w), channels last. */
function pixelsOf(fixture: Fixture): Float32Array {
  const [, channels, height, width] = fixture.shape("image_latents") as [number, number, number, number];
  const planes = fixture.float32("image_latents");
  const area = height * width;
  return planes.map((_, i) => planes[(i % channels) * area + Math.floor(i / channels)]!);
}
