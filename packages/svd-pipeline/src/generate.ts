import { type CompileOptions, countOf, type Device, type DType } from "@vd/kernels-native";
import { CpuGenerator, frameChunks, observed, type Plan, type Tuning } from "@vd/tensor";
import { posterior } from "@vd/vae-opt";
import { clipPixelValuesPausable } from "./conditioning/clip-pixel-values";
import { loadImage } from "./conditioning/load-image";
import { runInSlices } from "./conditioning/pausable";
import type { RgbImage } from "./conditioning/rgb-image";
import { vaeInputPausable } from "./conditioning/vae-input";
import { type DenoiseConstants, type DenoiseOptions, denoise, writeConstants } from "./denoise";
import { type ChosenDenoiser, type DenoiserFactory, DenoiserPlan } from "./denoiser";
import { NoiseSource } from "./latent-noise";
import { throwIfCancelled } from "./load-options";
import type { ModelComponents } from "./model/components";
import type { Models } from "./model/models";
import { checkUnchanged } from "./model/open-files";
import type { CheckedOptions } from "./options";
import { type LatentDims, sample } from "./sample";
import { createSampler, guidanceScales, type Sampler } from "./sampling/index";
import { type LinearSteps, linearSteps } from "./sampling/linear-steps";
import { cast, roundNumber } from "./sampling/values";
import {
  conditionStage,
  decodeStage,
  embedImageStage,
  encodeImageStage,
  type StageShape,
  type StepNeeds,
} from "./stages/definitions";
import { denoisingStage } from "./stages/generation-stages";
import { type StageDefinition, type StageLayouts, type StageMemory, withStage } from "./stages/stage";
import type { GenerateOptions, Precision, ProgressEvent } from "./types";
import { type DecodedFrames, makeVideo } from "./video";

/** Everything that one generation works with. */
export interface GenerationContext {
  device: Device;
  components: ModelComponents;
  models: Models;
  shape: StageShape;
  checked: CheckedOptions;
  options: GenerateOptions;
  sampling: Sampling;
  layouts: StageLayouts;
  /** Of activations, and of latents between steps. */
  precision: Precision;
  /** What decides kernel variants. */
  tuning: Tuning;
  /** What denoises instead of own kernels on `device`. */
  denoiser?: ChosenDenoiser | undefined;
}

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<Precision, DType>;

/** What a profiler calls the parts of a generation, by their names among the timings. */
const PARTS: Readonly<Record<string, string>> = {
  image: "image decode",
  embed: "CLIP",
  encode: "VAE encode",
  decode: "VAE decode",
};

/** The shapes that checked options mean for a model. */
export function stageShape(checked: CheckedOptions, factor: number, precision: Precision): StageShape {
  const { width, height, numFrames, decodeChunk, minGuidance, maxGuidance } = checked;
  const rows = Math.max(minGuidance, maxGuidance) > 1 ? 2 : 1;
  return { numFrames, width, height, factor, rows, decodeChunk, dtype: DTYPES[precision] };
}

/** A generation's sampler, and its steps as matrices where it has them: then they run on the device. */
export interface Sampling {
  sampler: Sampler;
  steps: LinearSteps | undefined;
}

/** The sampling that checked options mean for a model. Latents between steps on a device are float32 whatever the
 *  precision, those on the host have the precision, as the reference's. Throws VdError `attr`. */
export function samplingFor(components: ModelComponents, checked: CheckedOptions, precision: Precision): Sampling {
  const exact = samplerFor(components, checked, "float32");
  const steps = linearSteps(exact);
  return steps ? { sampler: exact, steps } : { sampler: samplerFor(components, checked, precision), steps };
}

/** What the sampling needs of the denoising stage. */
export function stepNeeds({ sampler, steps }: Sampling): StepNeeds | undefined {
  if (!steps) return undefined;
  const calls = Array.from({ length: sampler.numModelCalls }, (_, call) => call);
  return { numHistory: steps.numHistory, drawsNoise: calls.some((call) => sampler.noiseDrawsAt(call)) };
}

/** The sampler that checked options mean for a model. */
function samplerFor(
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

function concatenated(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
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
  private readonly noise: NoiseSource;

  constructor(private readonly context: GenerationContext) {
    const random = new CpuGenerator(context.checked.seed);
    this.noise = new NoiseSource(random, context.precision, { signal: context.options.signal });
  }

  /** Runs all stages. Throws VdError. */
  async run() {
    const { checked, options, shape } = this.context;
    const { sampler } = this.context.sampling;
    const image = await this.timed("image", () => loadImage(options.image));
    this.report("encode", 0, 2);
    const { embedding, imageLatents } = await this.encode(image);
    const first = await this.part("noise", () => this.noise.scaled(countOf(this.latentDims), sampler.initNoiseSigma));
    const latents = await this.timed("denoise", () => this.denoise(first, embedding, imageLatents));
    const frames = await this.timed("decode", () => this.decode(latents, shape.numFrames));
    throwIfCancelled(this.signal);
    return makeVideo({
      ...{ numFrames: checked.numFrames, width: checked.width, height: checked.height },
      ...frames,
      fps: checked.fps,
      seed: checked.seed,
      timings: this.timings,
      peakBytes: this.memory.peakBytes,
    });
  }

  /** What the models make of the picture. A GPU encodes it while this thread prepares it for the other model. */
  private async encode(image: RgbImage): Promise<{ embedding: Float32Array; imageLatents: Float32Array }> {
    const { device, checked, options } = this.context;
    let done = 0;
    const counted = async <T>(name: string, body: () => Promise<T>) => {
      const result = await this.timed(name, body);
      this.report("encode", ++done, 2);
      return result;
    };
    const encode = () => counted("encode", () => this.encodeImage(image));
    const embed = () => counted("embed", () => this.embedImage(image));
    // A profiler adds up what runs one after the other, and little memory is for one stage at a time.
    const together = device.kind === "cuda" && checked.memory === "full" && !options.profiler;
    if (!together) return { imageLatents: await encode(), embedding: await embed() };
    const both = await Promise.allSettled([encode(), embed()]);
    for (const each of both) if (each.status === "rejected") throw each.reason;
    const [imageLatents, embedding] = both.map((each) => (each as PromiseFulfilledResult<Float32Array>).value);
    return { imageLatents: imageLatents!, embedding: embedding! };
  }

  private async timed<T>(name: string, body: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await this.part(PARTS[name] ?? name, body);
    this.timings[name] = (performance.now() - start) * 1000;
    return result;
  }

  /** Runs a part of the work under a profiler's eyes, if there is one. */
  private part<T>(name: string, body: () => T): T {
    return observed(this.context.options.profiler, name, body);
  }

  private report(stage: ProgressEvent["stage"], step: number, steps: number, stepUs?: number): void {
    const elapsedUs = (performance.now() - this.startMs) * 1000;
    this.context.options.onProgress?.({ stage, step, steps, elapsedUs, ...(stepUs === undefined ? {} : { stepUs }) });
  }

  private async withStage<T>(
    stage: StageDefinition,
    body: (plan: Plan) => Promise<T>,
    { device = this.context.device, ...options }: CompileOptions & { device?: Device | undefined } = {},
  ): Promise<T> {
    const { layouts, components } = this.context;
    // Loading a stage reads its weights from their files: the moment at which a file that was cut off would do harm.
    checkUnchanged(components.files);
    // Weights of the stage before would otherwise stay until memory runs out.
    if (this.context.checked.memory === "low") await this.part("trim", () => device.trim());
    const observer = this.context.options.profiler;
    const tuning = this.context.tuning;
    const named = { ...options, name: stage.name, observer, tuning };
    return withStage(device, layouts.of(stage), this.memory, body, named);
  }

  private get signal(): AbortSignal | undefined {
    return this.context.options.signal;
  }

  private async embedImage(image: RgbImage): Promise<Float32Array> {
    const { models, components } = this.context;
    const work = clipPixelValuesPausable(image, components.clipPixels);
    const pixels = await this.part("preprocess", () => runInSlices(work, { signal: this.signal }));
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
    const pixels = await this.part("preprocess", () => runInSlices(work, { signal: this.signal }));
    const noisy = await this.part("noise", () => this.noise.noisy(pixels, checked.noiseAugStrength));
    return this.withStage(encodeImageStage(models, shape), async (plan) => {
      plan.write("image", noisy);
      await plan.run({ signal: this.signal });
      return this.rounded(posterior(plan.read("moments"), models.vae.config.latentChannels).mode);
    });
  }

  /** The values rounded to the latents' type. */
  private rounded(values: Float32Array): Float32Array {
    return cast({ data: values, dtype: "float32" }, this.context.precision).data;
  }

  private get latentDims(): LatentDims {
    const { shape, models } = this.context;
    const [height, width] = [shape.height / shape.factor, shape.width / shape.factor];
    return [shape.numFrames, models.vae.config.latentChannels, height, width];
  }

  /** What every step is told of the video and its guidance. */
  private wishes(): Pick<DenoiseConstants, "timeIds" | "guidance"> {
    const { shape, checked } = this.context;
    const { minGuidance, maxGuidance, numFrames } = checked;
    const rounded = (value: number) => roundNumber(value, this.context.precision);
    const guided = shape.rows === 2 && guidanceScales(checked.guidance, minGuidance, maxGuidance, numFrames);
    return {
      timeIds: [rounded(checked.fps - 1), rounded(checked.motionBucketId), rounded(checked.noiseAugStrength)],
      guidance: guided ? this.rounded(guided) : undefined,
    };
  }

  /** What every step shares, from the picture's embedding. */
  private async conditioning(embedding: Float32Array, image: Float32Array, device: Device): Promise<DenoiseConstants> {
    const { models, shape } = this.context;
    const context = new Float32Array(shape.rows * embedding.length); // The unconditional row stays zero.
    context.set(embedding, (shape.rows - 1) * embedding.length);
    const body = async (plan: Plan) => {
      plan.write("context", context);
      await plan.run({ signal: this.signal });
      return { image, cross: plan.read("cross"), frames: plan.read("frames"), ...this.wishes() };
    };
    return this.part("condition", () => this.withStage(conditionStage(models, shape), body, { device }));
  }

  private async denoise(first: Float32Array, embedding: Float32Array, image: Float32Array) {
    const { models, shape, sampling, denoiser } = this.context;
    if (denoiser?.kind === "elsewhere") return this.denoiseElsewhere(denoiser.factory, first, embedding, image);
    const device = denoiser?.device ?? this.context.device;
    const { sampler, steps } = sampling;
    const constants = await this.conditioning(embedding, image, device);
    const stage = denoisingStage(models, shape, stepNeeds(sampling));
    // A graph takes a call to record, which pays where it is replayed.
    const capture = device.kind === "cuda" && sampler.numModelCalls > 2;
    const body = (plan: Plan) => {
      writeConstants(plan, constants);
      this.report("denoise", 0, sampler.numSteps);
      const options = this.denoiseOptions(sampler);
      if (!steps) return denoise(plan, sampler, first, options);
      return sample(plan, { sampler, steps, dims: this.latentDims, latents: first }, options);
    };
    return this.withStage(stage, body, { capture, device });
  }

  /** Denoises by calls of somebody else's code; the sampler's arithmetic runs on the host. */
  private async denoiseElsewhere(
    factory: DenoiserFactory,
    first: Float32Array,
    embedding: Float32Array,
    image: Float32Array,
  ): Promise<Float32Array> {
    const { components, models, shape, sampling, options } = this.context;
    const { sampler } = sampling;
    const onMessage = (message: string) =>
      options.onProgress?.({
        stage: "denoise",
        step: 0,
        steps: sampler.numSteps,
        elapsedUs: this.elapsedUs(),
        message,
      });
    const operands = { components, models, shape, embedding, image, ...this.wishes() };
    const denoiser = await factory.open({ ...operands, signal: this.signal, onMessage });
    try {
      this.report("denoise", 0, sampler.numSteps);
      return await denoise(new DenoiserPlan(denoiser), sampler, first, this.denoiseOptions(sampler));
    } finally {
      await denoiser.close();
    }
  }

  private elapsedUs(): number {
    return (performance.now() - this.startMs) * 1000;
  }

  private denoiseOptions(sampler: Sampler): DenoiseOptions {
    const { checked, options } = this.context;
    return {
      signal: this.signal,
      observer: options.profiler,
      noise: () => this.part("noise", () => this.noise.unit(countOf(this.latentDims))),
      onStep: async ({ step, stepUs, denoised }) => {
        this.report("denoise", step, sampler.numSteps, stepUs);
        const previews = options.onPreview && step % checked.previewEvery === 0 && step < sampler.numSteps;
        if (previews) await this.part("preview", async () => this.preview(step, await denoised()));
      },
    };
  }

  /** Decodes the middle frame of unfinished latents. */
  private async preview(step: number, denoised: Float32Array): Promise<void> {
    const { shape, checked } = this.context;
    const frameLength = denoised.length / shape.numFrames;
    const middle = Math.floor(shape.numFrames / 2);
    const latents = denoised.subarray(middle * frameLength, (middle + 1) * frameLength);
    const { data: frames } = await this.decodeFrames(latents, 1);
    this.context.options.onPreview?.({ step, width: checked.width, height: checked.height, numFrames: 1, frames });
  }

  /** All frames, in one clip or, if asked for, in chunks that do not see each other. */
  private async decode(latents: Float32Array, numFrames: number): Promise<DecodedFrames> {
    const { isolateDecodeChunks, decodeChunk } = this.context.checked;
    const chunks = frameChunks(numFrames, isolateDecodeChunks ? (decodeChunk ?? numFrames) : numFrames);
    const perFrame = latents.length / numFrames;
    const parts: DecodedFrames[] = [];
    this.report("decode", 0, chunks.length);
    for (const [begin, end] of chunks) {
      parts.push(await this.decodeFrames(latents.subarray(begin * perFrame, end * perFrame), end - begin));
      this.report("decode", parts.length, chunks.length);
    }
    if (parts.length === 1) return parts[0]!;
    const { dtype } = parts[0]!.raw;
    const raw = { dtype, bytes: concatenated(parts.map((part) => part.raw.bytes)) };
    return { data: concatenated(parts.map((part) => part.data)), raw };
  }

  private decodeFrames(latents: Float32Array, numFrames: number): Promise<DecodedFrames> {
    const { models, shape } = this.context;
    return this.withStage(decodeStage(models, shape, numFrames), async (plan) => {
      plan.write("latents", latents);
      await plan.run({ signal: this.signal });
      const [data, bytes] = [await plan.fetchBytes("levels"), await plan.fetchBytes("frames")];
      return { data, raw: { dtype: plan.layout.graph.outputs.get("frames")!.dtype, bytes } };
    });
  }
}
