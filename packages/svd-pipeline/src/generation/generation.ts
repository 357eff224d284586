import { throwIfAborted } from "@vd/kernels-native";
import { fitPicture, loadImage, parseFocus, type RgbImage } from "@vd/media";
import { runInSlices } from "@vd/tensor";
import { StageLoader } from "../stages/stage-loader";
import type { GeneratedVideo } from "../types";
import type { GenerationContext, GenerationRun } from "./context";
import { decodeFrames } from "./decode-frames";
import { denoiseLatents } from "./denoise-latents";
import { encodePicture } from "./encode-picture";
import { GenerationNoise } from "./noise";
import { Progress } from "./progress";
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
    this.noise = new GenerationNoise(context, this.progress);
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

  /** The picture in the frames' shape. */
  private async picture(): Promise<RgbImage> {
    const { checked, options } = this.context;
    const { width, height, fit } = checked;
    const image = await loadImage(options.image, { width, height });
    const work = fitPicture.inPieces(image, width, height, { fit, focus: parseFocus(checked.focus) });
    return runInSlices(work, { signal: options.signal, where: "generation" });
  }

  private async runStages(): Promise<GeneratedVideo> {
    const { progress, noise, loader } = this;
    const { checked, options } = this.context;
    const image = await progress.timed("image", () => this.picture());
    progress.report("encode", 0, 2);
    const picture = await encodePicture(this, image);
    const first = await noise.firstLatents();
    const latents = await progress.timed("denoise", () => denoiseLatents(this, first, picture));
    const frames = await progress.timed("decode", () => decodeFrames(this, latents));
    throwIfAborted(options.signal, "generation");
    const { width, height, numFrames, fps, seed } = checked;
    const { peakBytes } = loader.memory;
    return makeVideo({ width, height, numFrames, fps, seed, ...frames, timings: progress.timings, peakBytes });
  }
}
