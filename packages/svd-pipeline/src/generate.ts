import type { Device, DType } from "@vd/kernels-native";
import { CpuGenerator, frameChunks, type Plan } from "@vd/tensor";
import { posterior } from "@vd/vae-opt";
import { clipPixelValuesPausable } from "./conditioning/clip-pixel-values";
import { framesToUint8Pausable } from "./conditioning/frames";
import { loadImage } from "./conditioning/load-image";
import { runInSlices } from "./conditioning/pausable";
import type { RgbImage } from "./conditioning/rgb-image";
import { vaeInputPausable } from "./conditioning/vae-input";
import { type DenoiseConstants, denoise, writeConstants } from "./denoise";
import type { ModelComponents } from "./model/components";
import type { Models } from "./model/models";
import { checkUnchanged } from "./model/open-files";
import type { CheckedOptions } from "./options";
import { createSampler, guidanceScales, type Sampler } from "./sampling/index";
import { cast, roundNumber } from "./sampling/values";
import {
  conditionStage,
  decodeStage,
  denoiseStage,
  embedImageStage,
  encodeImageStage,
  type StageShape,
} from "./stages/definitions";
import { type StageDefinition, type StageLayouts, type StageMemory, withStage } from "./stages/stage";
import type { GenerateOptions, Precision, ProgressEvent } from "./types";
import { makeVideo } from "./video";

/** Everything that one generation works with. */
export interface GenerationContext {
  device: Device;
  components: ModelComponents;
  models: Models;
  shape: StageShape;
  checked: CheckedOptions;
  options: GenerateOptions;
  layouts: StageLayouts;
  /** Of activations, and of latents between steps. */
  precision: Precision;
}

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<Precision, DType>;

/** The shapes that checked options mean for a model. */
export function stageShape(checked: CheckedOptions, factor: number, precision: Precision): StageShape {
  const { width, height, numFrames, decodeChunk, minGuidance, maxGuidance } = checked;
  const rows = Math.max(minGuidance, maxGuidance) > 1 ? 2 : 1;
  return { numFrames, width, height, factor, rows, decodeChunk, dtype: DTYPES[precision] };
}

/** The sampler that checked options mean for a model. */
export function samplerFor(
  components: ModelComponents,
  { sampler, steps, sigmas }: CheckedOptions,
  precision: Precision,
): Sampler {
  return createSampler(components.scheduler, {
    dtype: precision,
    ...(sampler === undefined ? {} : { name: sampler }),
    ...(steps === undefined ? {} : { steps }),
    ...(sigmas === undefined ? {} : { sigmas }),
  });
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** One generation, stage after stage; each stage's memory is freed before the next one's is taken. */
export class Generation {
  private readonly startMs = performance.now();
  private readonly timings: Record<string, number> = {};
  private readonly memory: StageMemory = { ownBytes: 0, peakBytes: 0 };
  private readonly random: CpuGenerator;

  constructor(private readonly context: GenerationContext) {
    this.random = new CpuGenerator(context.checked.seed);
  }

  /** Runs all stages. Throws VdError. */
  async run() {
    const { checked, options, components, shape, precision } = this.context;
    const sampler = samplerFor(components, checked, precision);
    const image = await this.timed("image", () => loadImage(options.image));
    this.report("encode", 0, 2);
    const embedding = await this.timed("embed", () => this.embedImage(image));
    this.report("encode", 1, 2);
    const imageLatents = await this.timed("encode", () => this.encodeImage(image));
    this.report("encode", 2, 2);
    const first = this.firstLatents(sampler);
    const latents = await this.timed("denoise", () => this.denoise(sampler, first, embedding, imageLatents));
    const frames = await this.timed("decode", () => this.decode(latents, shape.numFrames));
    const shapeOfFrames = { numFrames: checked.numFrames, width: checked.width, height: checked.height };
    const data = await this.timed("frames", () => this.toUint8(frames, checked.numFrames));
    return makeVideo({
      ...shapeOfFrames,
      data,
      raw: frames,
      fps: checked.fps,
      seed: checked.seed,
      timings: this.timings,
      peakBytes: this.memory.peakBytes,
    });
  }

  private async timed<T>(name: string, body: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await body();
    this.timings[name] = (performance.now() - start) * 1000;
    return result;
  }

  private report(stage: ProgressEvent["stage"], step: number, steps: number, stepUs?: number): void {
    const elapsedUs = (performance.now() - this.startMs) * 1000;
    this.context.options.onProgress?.({ stage, step, steps, elapsedUs, ...(stepUs === undefined ? {} : { stepUs }) });
  }

  private withStage<T>(stage: StageDefinition, body: (plan: Plan) => Promise<T>): Promise<T> {
    const { device, layouts, components } = this.context;
    // Loading a stage reads its weights from their files: the moment at which a file that was cut off would do harm.
    checkUnchanged(components.files);
    return withStage(device, layouts.of(stage), this.memory, body);
  }

  private get signal(): AbortSignal | undefined {
    return this.context.options.signal;
  }

  private async embedImage(image: RgbImage): Promise<Float32Array> {
    const { models, components } = this.context;
    const pixels = await runInSlices(clipPixelValuesPausable(image, components.clipPixels), { signal: this.signal });
    const stage = embedImageStage(models, components.clipPixels.size, this.context.shape.dtype);
    return this.withStage(stage, async (plan) => {
      plan.write("pixels", pixels);
      await plan.run({ signal: this.signal });
      return plan.read("embedding");
    });
  }

  /** Latents of the picture with a little noise on it: the posterior's mode, not scaled. [h,w,C] */
  private async encodeImage(image: RgbImage): Promise<Float32Array> {
    const { models, shape, checked } = this.context;
    const work = vaeInputPausable(image, shape.width, shape.height);
    const pixels = await runInSlices(work, { signal: this.signal });
    const noise = this.random.randn(pixels.length);
    const strength = Math.fround(checked.noiseAugStrength);
    const noisy = pixels.map((value, i) => value + Math.fround(strength * noise[i]!));
    return this.withStage(encodeImageStage(models, shape), async (plan) => {
      plan.write("image", noisy);
      await plan.run({ signal: this.signal });
      return this.rounded(posterior(plan.read("moments"), models.vae.config.latentChannels).mode);
    });
  }

  /** Unit noise at the sampler's first noise level, [F,C,h,w]: the generator's second draw. */
  private firstLatents(sampler: Sampler): Float32Array {
    const scale = Math.fround(sampler.initNoiseSigma);
    return this.rounded(this.latentNoise().map((value) => value * scale));
  }

  /** The values rounded to the latents' type. */
  private rounded(values: Float32Array): Float32Array {
    return cast({ data: values, dtype: "float32" }, this.context.precision).data;
  }

  private latentNoise(): Float32Array {
    const { shape, models } = this.context;
    const area = (shape.width / shape.factor) * (shape.height / shape.factor);
    return this.rounded(this.random.randn(shape.numFrames * models.vae.config.latentChannels * area));
  }

  /** What every step shares, from the picture's embedding. */
  private async conditioning(embedding: Float32Array, image: Float32Array): Promise<DenoiseConstants> {
    const { models, shape, checked } = this.context;
    const context = new Float32Array(shape.rows * embedding.length); // The unconditional row stays zero.
    context.set(embedding, (shape.rows - 1) * embedding.length);
    const { minGuidance, maxGuidance, numFrames } = checked;
    const rounded = (value: number) => roundNumber(value, this.context.precision);
    return this.withStage(conditionStage(models, shape), async (plan) => {
      plan.write("context", context);
      await plan.run({ signal: this.signal });
      return {
        image,
        cross: plan.read("cross"),
        frames: plan.read("frames"),
        timeIds: [rounded(checked.fps - 1), rounded(checked.motionBucketId), rounded(checked.noiseAugStrength)],
        guidance:
          shape.rows === 2
            ? this.rounded(guidanceScales(checked.guidance, minGuidance, maxGuidance, numFrames))
            : undefined,
      };
    });
  }

  private async denoise(sampler: Sampler, first: Float32Array, embedding: Float32Array, image: Float32Array) {
    const { models, shape, checked, options } = this.context;
    const constants = await this.conditioning(embedding, image);
    const steps = sampler.numSteps;
    return this.withStage(denoiseStage(models, shape), async (plan) => {
      writeConstants(plan, constants);
      this.report("denoise", 0, steps);
      return denoise(plan, sampler, first, {
        signal: this.signal,
        noise: () => this.latentNoise(),
        onStep: async ({ step, stepUs, denoised }) => {
          this.report("denoise", step, steps, stepUs);
          if (options.onPreview && step % checked.previewEvery === 0 && step < steps)
            await this.preview(step, denoised);
        },
      });
    });
  }

  /** Decodes the middle frame of unfinished latents. */
  private async preview(step: number, denoised: Float32Array): Promise<void> {
    const { shape, checked } = this.context;
    const frameLength = denoised.length / shape.numFrames;
    const middle = Math.floor(shape.numFrames / 2);
    const raw = await this.decodeFrames(denoised.subarray(middle * frameLength, (middle + 1) * frameLength), 1);
    const frames = await this.toUint8(raw, 1);
    this.context.options.onPreview?.({ step, width: checked.width, height: checked.height, numFrames: 1, frames });
  }

  /** All frames, in one clip or, if asked for, in chunks that do not see each other. */
  private async decode(latents: Float32Array, numFrames: number): Promise<Float32Array> {
    const { isolateDecodeChunks, decodeChunk } = this.context.checked;
    const chunks = frameChunks(numFrames, isolateDecodeChunks ? (decodeChunk ?? numFrames) : numFrames);
    const perFrame = latents.length / numFrames;
    const parts: Float32Array[] = [];
    this.report("decode", 0, chunks.length);
    for (const [begin, end] of chunks) {
      parts.push(await this.decodeFrames(latents.subarray(begin * perFrame, end * perFrame), end - begin));
      this.report("decode", parts.length, chunks.length);
    }
    return parts.length === 1 ? parts[0]! : concatenated(parts);
  }

  /** [F,C,h,w] → [F,H,W,3] in about [-1,1]. */
  private decodeFrames(latents: Float32Array, numFrames: number): Promise<Float32Array> {
    const { models, shape } = this.context;
    return this.withStage(decodeStage(models, shape, numFrames), async (plan) => {
      plan.write("latents", latents);
      await plan.run({ signal: this.signal });
      return plan.fetch("frames");
    });
  }

  private toUint8(frames: Float32Array, numFrames: number): Promise<Uint8Array> {
    const { width, height } = this.context.checked;
    const strides = { frame: 3 * width * height, channel: 1, row: 3 * width, column: 3 };
    return runInSlices(framesToUint8Pausable(frames, { numFrames, width, height }, strides), { signal: this.signal });
  }
}
