import { throwIfAborted } from "@vd/kernels-native";
import { StageLoader } from "../stages/stage-loader";
import type { GeneratedVideo } from "../types";
import type { GenerationContext, GenerationRun } from "./context";
import { denoiseLatents } from "./denoise-latents";
import { type EncodedPicture, encodePicture, loadFittedPicture } from "./encode-picture";
import { GenerationNoise } from "./noise";
import { Progress } from "./progress";
import { decodeSteered } from "./steering/decode-steered";
import { denoiseClips, seamsOf } from "./steering/denoise-clips";
import { finalFrames } from "./steering/frame-counts";
import { blendedLatents } from "./steering/frame-lists";
import { givenFrames } from "./steering/given-frames";
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

  /** What the models make of the picture; videos that share it encode it once. */
  private async picture(): Promise<EncodedPicture> {
    const { progress, noise, context } = this;
    const { shared, shape } = context;
    if (shared?.encoded) {
      await noise.skipPicture(3 * shape.width * shape.height);
      return shared.encoded;
    }
    const image = await progress.timed("image", () => loadFittedPicture(context));
    progress.report("encode", 0, 2);
    const encoded = await encodePicture(this, image);
    if (shared) shared.encoded = encoded;
    return encoded;
  }

  private async runStages(): Promise<GeneratedVideo> {
    const { progress, noise, loader } = this;
    const { checked, options } = this.context;
    const picture = await this.picture();
    const first = await noise.firstLatents();
    const latents = await progress.timed("denoise", () => this.denoised(first, picture));
    const isLatent = checked.outputType === "latent";
    // The array may be the next generation's too.
    const result = isLatent ? latents.slice() : await progress.timed("decode", () => decodeSteered(this, latents));
    throwIfAborted(options.signal, "generation");
    const { width, height, seed } = checked;
    const { peakBytes } = loader.memory;
    const { timings } = progress;
    return makeVideo({
      width,
      height,
      ...finalFrames(checked),
      seed,
      seams: seamsOf(this.context),
      result,
      timings,
      peakBytes,
    });
  }

  /** The clean latents of all frames that are decoded, [F,C,h,w]. */
  private async denoised(first: Float32Array, picture: EncodedPicture): Promise<Float32Array> {
    const { shape, checked } = this.context;
    const isPlain = shape.clipFrames === undefined;
    const latents = isPlain
      ? await denoiseLatents(this, first, picture)
      : await denoiseClips(this, first, await givenFrames(this, picture));
    return checked.interpolation === "latent" ? blendedLatents(latents, shape.numFrames, checked.loop) : latents;
  }
}
