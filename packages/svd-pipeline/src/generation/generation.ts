import { throwIfAborted } from "@vd/kernels-native";
import { StageLoader } from "../stages/stage-loader";
import type { GeneratedVideo } from "../types";
import type { GenerationContext, GenerationRun } from "./context";
import { decodeFrames } from "./decode-frames";
import { beginning, denoiseLatents } from "./denoise-latents";
import { type EncodedPicture, encodePicture, loadFittedPicture, type Picture } from "./encode-picture";
import { GenerationNoise } from "./noise";
import { Progress } from "./progress";
import { pictureDigest } from "./resume/facts";
import { makeVideo } from "./video";

function loaderOf({ device, layouts, components, checked, tuning, options }: GenerationContext): StageLoader {
  const { profiler: observer, signal } = options;
  const trims = checked.memory === "low";
  return new StageLoader({ device, layouts, tuning, observer, signal, files: components.files, trims });
}

/** One generation, stage after stage; each stage's memory is freed before the next one's is taken, but for what a GPU with
 *  enough of it loads ahead. */
export class Generation implements GenerationRun {
  readonly progress: Progress;
  readonly loader: StageLoader;
  readonly noise: GenerationNoise;

  constructor(readonly context: GenerationContext) {
    this.progress = new Progress(context.options);
    this.loader = loaderOf(context);
    this.noise = new GenerationNoise(context, this.progress, context.shared?.part);
  }

  /**
   * Runs all stages and returns the video. Called once.
   *
   * @throws VdError `cancelled` once the signal has fired, and what a stage throws
   */
  async run(): Promise<GeneratedVideo> {
    try {
      return await this.runStages();
    } finally {
      await this.loader.dropAhead();
    }
  }

  /** What the models make of the picture; videos that share it encode it once, and so do runs that share a state. */
  private async picture(): Promise<EncodedPicture> {
    const { progress, context } = this;
    const { shared, state } = context;
    if (shared?.encoded) {
      if (shared.digest !== undefined) await state?.begin(context, shared.digest);
      return this.encodedBefore(shared.encoded);
    }
    const image = await progress.timed("image", () => loadFittedPicture(context));
    const digest = state && (await pictureDigest(image));
    if (digest !== undefined) await state?.begin(context, digest);
    progress.report("encode", 0, 2);
    const kept = await state?.picture();
    const encoded = kept ? await this.encodedBefore(kept) : await this.encode(image);
    if (kept) progress.report("encode", 2, 2);
    if (shared) Object.assign(shared, { encoded, digest });
    return encoded;
  }

  private async encode(image: Picture): Promise<EncodedPicture> {
    const encoded = await encodePicture(this, image);
    await this.context.state?.keepPicture(encoded);
    return encoded;
  }

  /** Draws what encoding the picture would have drawn. */
  private async encodedBefore(encoded: EncodedPicture): Promise<EncodedPicture> {
    const { width, height } = this.context.shape;
    await this.noise.skipPicture(3 * width * height);
    return encoded;
  }

  /** The clean latents, [F,C,h,w], which only steps that are not taken yet are computed for. */
  private async cleanLatents(): Promise<Float32Array> {
    const { progress, context } = this;
    const picture = await this.picture();
    const kept = await context.state?.latents();
    if (kept) {
      const { numSteps } = context.sampling.sampler;
      progress.report("denoise", numSteps, numSteps);
      return kept;
    }
    const begin = await beginning(this);
    const latents = await progress.timed("denoise", () => denoiseLatents(this, begin, picture));
    await context.state?.keepLatents(latents);
    return latents;
  }

  private async runStages(): Promise<GeneratedVideo> {
    const { progress, loader } = this;
    const { checked, options } = this.context;
    const latents = await this.cleanLatents();
    const isLatent = checked.outputType === "latent";
    // The array may be the next generation's too.
    const result = isLatent ? latents.slice() : await progress.timed("decode", () => decodeFrames(this, latents));
    throwIfAborted(options.signal, "generation");
    const { width, height, numFrames, fps, seed } = checked;
    const { peakBytes } = loader.memory;
    return makeVideo({ width, height, numFrames, fps, seed, result, timings: progress.timings, peakBytes });
  }
}
