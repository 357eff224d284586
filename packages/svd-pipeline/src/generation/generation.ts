import { throwIfAborted } from "@vd/kernels-native";
import { StageLoader } from "../stages/stage-loader";
import type { GeneratedVideo } from "../types";
import type { GenerationContext, GenerationRun } from "./context";
import { decodeFrames } from "./decode-frames";
import { denoiseLatents } from "./denoise-latents";
import { type EncodedPicture, encodePicture, loadFittedPicture } from "./encode-picture";
import { GenerationNoise } from "./noise";
import { Progress } from "./progress";
import { makeVideo } from "./video";

function loadersOf({ device, team, layouts, components, checked, tuning, options }: GenerationContext): StageLoader[] {
  const { profiler: observer, signal } = options;
  const shared = { layouts, tuning, observer, signal, files: components.files, trims: checked.memory === "low" };
  const devices = team?.members.map((member) => member.device) ?? [device];
  return devices.map((each) => new StageLoader({ ...shared, device: each }));
}

/** One generation, stage after stage; each stage's memory is freed before the next one's is taken, but for what a GPU with
 *  enough of it loads ahead. */
export class Generation implements GenerationRun {
  readonly progress: Progress;
  readonly loader: StageLoader;
  readonly loaders: readonly StageLoader[];
  readonly noise: GenerationNoise;

  constructor(readonly context: GenerationContext) {
    this.progress = new Progress(context.options);
    this.loaders = loadersOf(context);
    this.loader = this.loaders[0]!;
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
      await Promise.all(this.loaders.map((loader) => loader.dropAhead()));
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
    const { progress, noise, loaders } = this;
    const { checked, options } = this.context;
    const picture = await this.picture();
    const first = await noise.firstLatents();
    const latents = await progress.timed("denoise", () => denoiseLatents(this, first, picture));
    const isLatent = checked.outputType === "latent";
    // The array may be the next generation's too.
    const result = isLatent ? latents.slice() : await progress.timed("decode", () => decodeFrames(this, latents));
    throwIfAborted(options.signal, "generation");
    const { width, height, numFrames, fps, seed } = checked;
    const peakBytes = Math.max(...loaders.map(({ memory }) => memory.peakBytes));
    return makeVideo({ width, height, numFrames, fps, seed, result, timings: progress.timings, peakBytes });
  }
}
