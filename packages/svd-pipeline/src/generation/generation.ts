import { throwIfAborted } from "@vd/kernels-native";
import { noCalls } from "../denoising/call-planner";
import type { SharedArena } from "../stages/shared-arena";
import { StageLoader } from "../stages/stage-loader";
import type { GeneratedVideo } from "../types";
import type { Conditions } from "./conditions";
import type { GenerationContext, GenerationRun } from "./context";
import { type Beginning, beginning, denoiseLatents } from "./denoise-latents";
import { type EncodedPicture, encodePicture, loadFittedPicture, type Picture } from "./encode-picture";
import { loadAhead } from "./load-ahead";
import { GenerationNoise } from "./noise";
import { loaderOptions, unpinnedMessage } from "./pinning";
import { Progress } from "./progress";
import { pictureDigest } from "./resume/facts";
import { seamsOf } from "./steering/clips-of";
import { decodeSteered } from "./steering/decode-steered";
import { denoiseClips } from "./steering/denoise-clips";
import { finalFrames } from "./steering/frame-counts";
import { blendedLatents } from "./steering/frame-lists";
import { givenFrames } from "./steering/given-frames";
import { makeVideo } from "./video";

function loadersOf(context: GenerationContext, onUnpinned: () => void): StageLoader[] {
  const { profiler: observer, signal } = context.options;
  const shared = { ...loaderOptions(context), observer, signal, onUnpinned };
  const devices = context.team?.members.map((member) => member.device) ?? [context.device];
  return devices.map((each) => new StageLoader({ ...shared, device: each }));
}

/** One generation, stage after stage; each stage's memory is freed before the next one's is taken, but for what a GPU with
 *  enough of it loads ahead. */
export class Generation implements GenerationRun {
  readonly progress: Progress;
  readonly loader: StageLoader;
  readonly loaders: readonly StageLoader[];
  readonly noise: GenerationNoise;
  loadingAhead: Promise<void> | undefined;
  arenaAhead: SharedArena | undefined;
  readonly conditionsAhead = new Map<Float32Array, Promise<Conditions>>();
  readonly callsMade = noCalls();

  constructor(readonly context: GenerationContext) {
    const { shared } = context;
    if (shared) shared.pictures ??= new Map();
    context.pictures = shared?.pictures ?? new Map();
    this.progress = new Progress(context.options);
    this.loaders = loadersOf(context, () => this.unpin());
    this.tellPinning();
    this.loader = this.loaders[0]!;
    this.noise = new GenerationNoise(context, this.progress, context.shared?.part);
  }

  /**
   * Runs all stages and returns the video. Called once. What is told of by `onRest` goes on.
   *
   * @throws VdError `cancelled` once the signal has fired, and what a stage throws
   */
  async run(): Promise<GeneratedVideo> {
    const { overlap, shape, state, shared } = this.context;
    // While the picture is read: its noise does not wait for it, nor do weights.
    if (overlap) this.noise.drawPictureAhead(3 * shape.width * shape.height);
    if (overlap && !state && !shared?.encoded) this.loadingAhead = loadAhead(this);
    // Whoever waits for it hears of it.
    this.loadingAhead?.catch(() => undefined);
    let video: GeneratedVideo;
    try {
      video = await this.runStages();
    } catch (error) {
      await this.end();
      throw error;
    }
    const rest = this.end();
    // A GPU takes milliseconds to free the gigabytes that all stages shared.
    if (this.arenaAhead && this.context.onRest) this.context.onRest(rest.catch(() => undefined));
    else await rest;
    return video;
  }

  /** Frees what is loaded, and waits for what still works with the next generation's arrays. */
  private async end(): Promise<void> {
    await this.loadingAhead?.catch(() => undefined);
    await Promise.allSettled(this.conditionsAhead.values());
    await Promise.all([this.noise.settled(), ...this.loaders.map((loader) => loader.dropAhead())]);
  }

  /** Goes on without page-locked memory that is kept. */
  private unpin(): void {
    const { context } = this;
    if (context.pinning) context.pinning = { ...context.pinning, isKept: false };
    this.tellPinning("refuses");
  }

  private tellPinning(reason?: string): void {
    const message = unpinnedMessage(this.context, reason);
    if (message) this.progress.report("load", 1, 1, { message });
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
    // Clips of a longer video draw their own.
    const begin = context.shape.clipFrames === undefined ? await beginning(this) : undefined;
    const latents = await progress.timed("denoise", () => this.denoised(picture, begin));
    await context.state?.keepLatents(latents);
    return latents;
  }

  private async runStages(): Promise<GeneratedVideo> {
    const { progress, loaders } = this;
    const { checked, options } = this.context;
    const latents = await this.cleanLatents();
    const isLatent = checked.outputType === "latent";
    // The array may be the next generation's too.
    const result = isLatent ? latents.slice() : await progress.timed("decode", () => decodeSteered(this, latents));
    throwIfAborted(options.signal, "generation");
    const { width, height, seed } = checked;
    const peakBytes = Math.max(...loaders.map(({ memory }) => memory.peakBytes));
    const denoiserCalls = { ...this.callsMade };
    const { timings } = progress;
    return makeVideo({
      denoiserCalls,
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
  private async denoised(picture: EncodedPicture, begin: Beginning | undefined): Promise<Float32Array> {
    const { shape, checked } = this.context;
    const latents = begin
      ? await denoiseLatents(this, begin, picture)
      : await denoiseClips(this, await this.noise.firstLatents(), await givenFrames(this, picture));
    return checked.interpolation === "latent" ? blendedLatents(latents, shape.numFrames, checked.loop) : latents;
  }
}
