import { type CompileOptions, countOf, type Device, type DType } from "@vd/kernels-native";
import type { RgbImage } from "@vd/media";
import { loadImage } from "@vd/media";
import { cast, guidanceScales, roundNumber, type Sampler } from "@vd/sampling";
import {
  CpuGenerator,
  frameChunks,
  mapPausable,
  observed,
  type Pausable,
  type Plan,
  runInSlices,
  type Tuning,
} from "@vd/tensor";
import { posteriorModePausable } from "@vd/vae-opt";
import { type Sampling, stepNeeds } from "./chosen-sampling";
import { clipPixelValuesPausable } from "./conditioning/clip-pixel-values";
import { vaeInputPausable } from "./conditioning/vae-input";
import { type DenoiseConstants, type DenoiseOptions, denoise, sendConstants } from "./denoise";
import { type ChosenDenoiser, type DenoiserFactory, DenoiserPlan } from "./denoiser";
import { joinedBytes } from "./joined-bytes";
import { NoiseSource } from "./latent-noise";
import { throwIfCancelled } from "./load-options";
import type { ModelComponents } from "./model/components";
import type { Models } from "./model/models";
import type { CheckedOptions } from "./options";
import { type LatentDims, sample } from "./sample";
import type { Scratch } from "./scratch";
import { usableBytes } from "./stages/decode-chunk";
import { conditionStage, decodeStage, embedImageStage, encodeImageStage, type StageShape } from "./stages/definitions";
import { denoisingStage, stagesBefore } from "./stages/generation-stages";
import type { StageLayouts } from "./stages/stage";
import { StageLoader } from "./stages/stage-loader";
import type { GeneratedVideo, GenerateOptions, Precision, ProgressEvent } from "./types";
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
  scratch: Scratch;
  /** Of activations, and of latents between steps. */
  precision: Precision;
  /** What decides kernel variants. */
  tuning: Tuning;
  /** A GPU loads, encodes and takes in pictures beside this thread's work. */
  overlap: boolean;
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

/** One generation, stage after stage; each stage's memory is freed before the next one's is taken, but for what a GPU with
 *  enough of it loads ahead. */
export class Generation {
  private readonly startMs = performance.now();
  private readonly timings: Record<string, number> = {};
  private readonly loader: StageLoader;
  private readonly noise: NoiseSource;
  /** The first latents, where they are drawn before their turn. */
  private drawn: Promise<Float32Array> | undefined;

  constructor(private readonly context: GenerationContext) {
    const random = new CpuGenerator(context.checked.seed);
    const { device, layouts, components, checked, tuning, options } = context;
    this.noise = new NoiseSource(random, context.precision, options.signal);
    const { profiler: observer, signal } = options;
    this.loader = new StageLoader({
      ...{ device, layouts, tuning, observer, signal },
      files: components.files,
      trims: checked.memory === "low",
    });
  }

  /** Runs all stages. Throws VdError. */
  async run(): Promise<GeneratedVideo> {
    try {
      return await this.stages();
    } finally {
      await this.loader.dropAhead();
    }
  }

  private async stages(): Promise<GeneratedVideo> {
    const { checked, options, shape } = this.context;
    const image = await this.timed("image", () => loadImage(options.image));
    this.report("encode", 0, 2);
    const { embedding, imageLatents } = await this.encode(image);
    const first = await (this.drawn ?? this.drawFirst());
    const latents = await this.timed("denoise", () => this.denoise(first, embedding, imageLatents));
    const frames = await this.timed("decode", () => this.decode(latents, shape.numFrames));
    throwIfCancelled(this.signal);
    return makeVideo({
      ...{ numFrames: checked.numFrames, width: checked.width, height: checked.height },
      ...frames,
      fps: checked.fps,
      seed: checked.seed,
      timings: this.timings,
      peakBytes: this.loader.memory.peakBytes,
    });
  }

  /** What the models make of the picture. */
  private async encode(image: RgbImage): Promise<{ embedding: Float32Array; imageLatents: Float32Array }> {
    let done = 0;
    const counted = async <T>(name: string, body: () => Promise<T>) => {
      const result = await this.timed(name, body);
      this.report("encode", ++done, 2);
      return result;
    };
    const encode = (onPrepared: () => void) => counted("encode", () => this.encodeImage(image, onPrepared));
    const embed = () => counted("embed", () => this.embedImage(image));
    if (!this.context.overlap) return { imageLatents: await encode(() => {}), embedding: await embed() };
    await this.loadAhead();
    // What the GPU works on longest comes first on this thread; then CLIP's picture, while others draw noise and copy.
    let begin = () => {};
    const prepared = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const both = await Promise.allSettled([encode(begin).finally(begin), prepared.then(embed)]);
    for (const each of both) if (each.status === "rejected") throw each.reason;
    const [imageLatents, embedding] = both.map((each) => (each as PromiseFulfilledResult<Float32Array>).value);
    return { imageLatents: imageLatents!, embedding: embedding! };
  }

  /** Begins to load the stages before decoding, if all of them fit into the memory at once: the device then takes in
   *  weights while this thread prepares the picture and while the picture is encoded. */
  private async loadAhead(): Promise<void> {
    const { models, components, shape, sampling, denoiser, device, checked, layouts } = this.context;
    const counts = { clipSize: components.clipPixels.size, numModelCalls: 1, stepNeeds: stepNeeds(sampling) };
    const [embed, encode, ...denoising] = stagesBefore(models, shape, counts).map(([stage]) => stage);
    const own = denoiser === undefined || (denoiser.kind === "own" && denoiser.device === device);
    // The picture's encoder has few weights, and what follows it takes longest.
    const wanted = [encode!, embed!, ...(own ? denoising : [])];
    let bytes = 0;
    for (const stage of wanted) {
      const { memory } = await layouts.inSlices(stage, this.signal);
      bytes += memory.peakBytes + memory.weightBytes;
    }
    if (bytes > (await usableBytes(device, checked.memory))) return;
    for (const stage of wanted)
      this.loader.loadAhead(stage, stage.name === "denoise" ? this.denoiseCompile(device) : {});
  }

  private drawFirst(): Promise<Float32Array> {
    const { sampling, scratch } = this.context;
    const into = scratch.floats("latents", countOf(this.latentDims));
    return this.part("noise", () => this.noise.scaled(into.length, sampling.sampler.initNoiseSigma, into));
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

  private get signal(): AbortSignal | undefined {
    return this.context.options.signal;
  }

  private async embedImage(image: RgbImage): Promise<Float32Array> {
    const { models, components } = this.context;
    const work = clipPixelValuesPausable(image, components.clipPixels);
    const pixels = await this.part("preprocess", () => runInSlices(work, { signal: this.signal }));
    const stage = embedImageStage(models, components.clipPixels.size, this.context.shape.dtype);
    return this.loader.run(stage, async (plan) => {
      await plan.write("pixels", pixels);
      await plan.run({ signal: this.signal });
      return plan.read("embedding");
    });
  }

  /** Latents of the picture with a little noise on it: the posterior's mode, not scaled. [h,w,C] */
  private async encodeImage(image: RgbImage, onPrepared: () => void): Promise<Float32Array> {
    const { models, shape, checked, scratch } = this.context;
    const count = 3 * shape.width * shape.height;
    const work = vaeInputPausable(image, shape.width, shape.height, scratch.floats("picture", count));
    const pixels = await this.part("preprocess", () => runInSlices(work, { signal: this.signal }));
    onPrepared();
    const into = scratch.floats("noisy picture", count);
    const noisy = await this.part("noise", () => this.noise.noisy(pixels, checked.noiseAugStrength, into));
    if (this.context.overlap) {
      // The next numbers in the reference's order, drawn while the GPU encodes.
      this.drawn = this.drawFirst();
      this.drawn.catch(() => undefined);
    }
    return this.loader.run(encodeImageStage(models, shape), async (plan) => {
      await plan.write("image", noisy);
      await plan.run({ signal: this.signal });
      const mode = posteriorModePausable(await plan.read("moments"), models.vae.config.latentChannels);
      return runInSlices(this.roundedPausable(mode), { signal: this.signal });
    });
  }

  /** The values rounded to the latents' type. */
  private rounded(values: Float32Array): Float32Array {
    return cast({ data: values, dtype: "float32" }, this.context.precision).data;
  }

  private *roundedPausable(values: Pausable<Float32Array>): Pausable<Float32Array> {
    return yield* mapPausable(yield* values, (piece, result) => result.set(this.rounded(piece)));
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
      await plan.write("context", context);
      await plan.run({ signal: this.signal });
      const [cross, frames] = [await plan.read("cross"), await plan.read("frames")];
      return { image, cross, frames, ...this.wishes() };
    };
    return this.part("condition", () => this.loader.run(conditionStage(models, shape), body, { device }));
  }

  private async denoise(first: Float32Array, embedding: Float32Array, image: Float32Array) {
    const { models, shape, sampling, denoiser, scratch } = this.context;
    if (denoiser?.kind === "elsewhere") return this.denoiseElsewhere(denoiser.factory, first, embedding, image);
    const device = denoiser?.device ?? this.context.device;
    const { sampler, steps } = sampling;
    const constants = await this.conditioning(embedding, image, device);
    const stage = denoisingStage(models, shape, stepNeeds(sampling));
    const body = async (plan: Plan) => {
      await sendConstants(plan, constants);
      this.report("denoise", 0, sampler.numSteps);
      const options = this.denoiseOptions(sampler);
      if (!steps) return denoise(plan, sampler, first, options);
      return sample(plan, { sampler, steps, dims: this.latentDims, latents: first, scratch }, options);
    };
    return this.loader.run(stage, body, { ...this.denoiseCompile(device), device });
  }

  /** A graph takes a call to record, which pays where it is replayed. */
  private denoiseCompile({ kind }: Device): CompileOptions {
    return { capture: kind === "cuda" && this.context.sampling.sampler.numModelCalls > 2 };
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
    const joined = (pieces: Uint8Array[]) => runInSlices(joinedBytes(pieces), { signal: this.signal });
    const raw = { dtype, bytes: await joined(parts.map((part) => part.raw.bytes)) };
    return { data: await joined(parts.map((part) => part.data)), raw };
  }

  private decodeFrames(latents: Float32Array, numFrames: number): Promise<DecodedFrames> {
    const { models, shape } = this.context;
    return this.loader.run(decodeStage(models, shape, numFrames), async (plan) => {
      await plan.write("latents", latents);
      await plan.run({ signal: this.signal });
      const [data, bytes] = [await plan.readBytes("levels"), await plan.readBytes("frames")];
      return { data, raw: { dtype: plan.layout.graph.outputs.get("frames")!.dtype, bytes } };
    });
  }
}
