import { having, requireArgument, requireOptions } from "@vd/kernels-native";
import {
  clipPixelValues,
  createSampler,
  type DenoiserRequest,
  framesToUint8,
  guidanceScales,
  loadImage,
  type Sampler,
  type SamplerState,
  vaeInput,
} from "@vd/svd-pipeline";
import { CpuGenerator } from "@vd/tensor";
import { spatialFactor } from "@vd/vae-opt";
import { denoiserConstants, denoiserInput, guided } from "../denoisers/unet-call";
import type { OnnxModels } from "./onnx-models";

/** What to generate; sizes are those of the exports. */
export interface WholeRunOptions {
  /** A path or a picture file's bytes. */
  readonly image: string | Uint8Array;
  readonly steps: number;
  readonly seed: number | bigint;
  readonly fps: number;
  readonly motionBucketId: number;
  readonly noiseAugStrength: number;
  readonly minGuidance: number;
  readonly maxGuidance: number;
}

/** A video that ONNX Runtime alone has computed, and what each part took. */
export interface WholeRun {
  /** [F,H,W,3] in 8 bits. */
  readonly data: Uint8Array;
  /** [F,C,h,w]. */
  readonly latents: Float32Array;
  /** Per part. */
  readonly timingsUs: Readonly<Record<"embed" | "encode" | "denoise" | "decode" | "total", number>>;
}

/** Planes [C,h,w] of the moments' means. */
const meansOf = (moments: Float32Array) => moments.subarray(0, moments.length / 2);

/** [C,h,w] → [h,w,C]. */
function toPixels(planes: Float32Array, channels: number): Float32Array {
  const area = planes.length / channels;
  return Float32Array.from(planes, (_, i) => planes[(i % channels) * area + Math.floor(i / channels)]!);
}

async function denoise(
  models: OnnxModels,
  sampler: Sampler,
  first: Float32Array,
  request: DenoiserRequest,
  random: CpuGenerator,
) {
  const constants = denoiserConstants(request);
  let x = first;
  let state: SamplerState | undefined;
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const both = await models.unet({
      sample: denoiserInput(x, sampler.inputScale(call), constants),
      timestep: { data: Float32Array.of(sampler.modelTimestep(call)), dims: [1] },
      encoder_hidden_states: constants.context,
      added_time_ids: constants.timeIds,
    });
    const modelOutput = constants.guidance ? guided(both, constants.guidance) : both;
    const noise = sampler.noiseDrawsAt(call) ? random.randn(x.length) : undefined;
    ({ x, state } = sampler.step(call, { x, modelOutput, noise, state }));
  }
  return x;
}

/**
 * Generates a video with every model in ONNX Runtime, drawing the same random numbers as `generate` in the same order,
 * so that the results can be compared. models: all parts, exported for two rows if guidance is above 1, else for one.
 *
 * @throws VdError
 */
export async function wholeRun(models: OnnxModels, options: WholeRunOptions): Promise<WholeRun> {
  requireArgument(
    "wholeRun models",
    models,
    having("an OnnxModels", ["source", "sizes"], "OnnxModels.open opens one."),
  );
  requireOptions("wholeRun", options);
  const { components } = models.source;
  const { frames, width, height } = models.sizes;
  const config = models.vaeConfig;
  const factor = spatialFactor(config);
  const start = performance.now();
  const marks: number[] = [];
  const mark = () => marks.push(performance.now() - start);
  const random = new CpuGenerator(BigInt(options.seed));
  const picture = await loadImage(options.image);
  const side = components.clipPixels.size;
  const pixels = await clipPixelValues(picture, components.clipPixels);
  const embedding = await models.embed({ data: pixels, dims: [1, 3, side, side] });
  mark();
  const noisy = withNoise(await vaeInput(picture, width, height), random, options.noiseAugStrength);
  const moments = await models.encode({ data: noisy, dims: [1, 3, height, width] });
  const image = toPixels(meansOf(moments), config.latentChannels);
  mark();
  const sampler = createSampler(components.scheduler, { steps: options.steps, dtype: "float32" });
  const latentDims = [frames, config.latentChannels, height / factor, width / factor];
  const scale = Math.fround(sampler.initNoiseSigma);
  const first = random.randn(latentDims.reduce((a, b) => a * b, 1)).map((value) => value * scale);
  const request = requestOf(models, options, { embedding, image });
  const latents = await denoise(models, sampler, first, request, random);
  mark();
  const divisor = Math.fround(1 / config.scalingFactor);
  const decoded = await models.decode({ data: latents.map((value) => value * divisor), dims: [1, ...latentDims] });
  const data = framesToUint8(decoded, { numFrames: frames, width, height });
  mark();
  return { data, latents, timingsUs: timingsOf(marks) };
}

/** What a generation would tell a denoiser. */
function requestOf(
  { source, sizes }: OnnxModels,
  options: WholeRunOptions,
  pictured: Pick<DenoiserRequest, "embedding" | "image">,
): DenoiserRequest {
  const { frames, width, height, batch } = sizes;
  const { minGuidance, maxGuidance, fps, motionBucketId, noiseAugStrength } = options;
  const rows = batch === 2 ? 2 : 1;
  const factor = spatialFactor(source.models.vae.config);
  return {
    ...source,
    ...pictured,
    shape: { numFrames: frames, width, height, factor, rows, decodeChunk: undefined },
    timeIds: [fps - 1, motionBucketId, Math.fround(noiseAugStrength)],
    guidance: rows === 2 ? guidanceScales("linear", minGuidance, maxGuidance, frames) : undefined,
  };
}

function timingsOf(marksMs: readonly number[]): WholeRun["timingsUs"] {
  const [embed = 0, encode = 0, denoise = 0, decode = 0] = marksMs.map((ms, i) => (ms - (marksMs[i - 1] ?? 0)) * 1000);
  return { embed, encode, denoise, decode, total: (marksMs.at(-1) ?? 0) * 1000 };
}

function withNoise(pixels: Float32Array, random: CpuGenerator, strength: number): Float32Array {
  const noise = random.randn(pixels.length);
  const factor = Math.fround(strength);
  return pixels.map((value, i) => value + Math.fround(factor * noise[i]!));
}
