import { FUNCTION, requireFields, requireOptions, VdError } from "@vd/kernels-native";
import type { FloatImage, PictureSource, RgbImage } from "@vd/media";
import { withCallbacks } from "@vd/tensor";
import { isFloatImage } from "../../conditioning/float-image";
import { noCalls } from "../../denoising/call-planner";
import type { StageLayouts } from "../../stages/stage";
import { StageLoader } from "../../stages/stage-loader";
import type { GenerateOptions } from "../../types";
import type { GenerationContext, GenerationRun } from "../context";
import { loadFittedPicture, type Picture } from "../encode-picture";
import { checkMemory } from "../estimate";
import { layoutStages } from "../layout-stages";
import { GenerationNoise, type NoisePosition } from "../noise";
import { loaderOptions, settlePinning } from "../pinning";
import { Progress } from "../progress";
import { Scratch } from "../scratch";
import { checkState } from "./check-state";
import { type ClipBeginning, makeClip } from "./make-clip";
import type { ClipChanges, EndlessClip, EndlessOptions, EndlessState, Scene } from "./types";

/** What an endless video needs of its pipeline. */
export interface EndlessHost {
  /** Everything that a generation with these options works with. */
  context(options: GenerateOptions, scratch: Scratch): Promise<GenerationContext>;
  /** Waits until nothing else of the pipeline's runs. */
  inTurn<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  /** Tells what does not go together. */
  warn(context: GenerationContext): void;
}

type Settings = EndlessState["settings"];

/** Numbers that clips are made with, and what they are now. */
function settingsOf({ checked, sampling }: GenerationContext): Settings {
  const { motionBucketId, noiseAugStrength, minGuidance, maxGuidance } = checked;
  return { steps: sampling.sampler.numSteps, motionBucketId, noiseAugStrength, minGuidance, maxGuidance };
}

/** The changes of numbers among others. */
function changedSettings(settings: Settings, changes: ClipChanges): Settings {
  const given = Object.keys(settings).filter((name) => changes[name as keyof Settings] !== undefined);
  return { ...settings, ...Object.fromEntries(given.map((name) => [name, changes[name as keyof Settings]])) };
}

/**
 * A video without an end, clip by clip: each clip takes over the last frames of the one before, whose latents are known, and goes on
 * from them; colours are held to those that the scene began with. What is loaded for the first clip stays until {@link close}.
 * Clips and other work of the pipeline wait for each other.
 */
export class EndlessVideo {
  private scratch = new Scratch();
  private loader: StageLoader | undefined;
  private layouts: StageLayouts | undefined;
  private settled: SettledClips | undefined;
  private isClosed = false;
  private numClips = 0;
  private numFrames = 0;
  private scene: Scene | undefined;

  private constructor(
    private readonly host: EndlessHost,
    private readonly options: GenerateOptions,
    private readonly opened: GenerationContext,
    private picture: Picture | undefined,
    private settings: Settings,
    private noise: NoisePosition,
  ) {}

  /**
   * Checks everything that the video is made with; nothing is computed yet.
   *
   * @throws VdError as `StableVideoDiffusionPipeline.generate`
   */
  static async open(options: EndlessOptions, host: EndlessHost): Promise<EndlessVideo> {
    requireOptions("EndlessVideo.open", options);
    requireFields("EndlessVideo.open host", host, { context: FUNCTION });
    const context = await host.context(withoutEnd(options), new Scratch());
    const { checked, shape, team } = context;
    if (team) {
      const [expected, got] = ["one device", `${team.members.length} devices`];
      throw new VdError({ code: "unsupported", where: "endless video", expected, got });
    }
    const { width, height, clipFrames, overlap } = checked;
    if (overlap >= clipFrames) {
      const expected = `fewer frames than a clip has, which is ${clipFrames}`;
      throw new VdError({ code: "attr", where: "overlap", expected, got: String(overlap) });
    }
    host.warn(context);
    const picture = await loadFittedPicture(context);
    const fixed = { ...withoutEnd(options), width, height, autoSize: false, numFrames: clipFrames, clipFrames };
    const noise = new GenerationNoise(context, new Progress({})).position();
    const opened = { ...context, shape: { ...shape, numFrames: clipFrames } };
    return new EndlessVideo(host, fixed, opened, picture, settingsOf(context), noise);
  }

  get width(): number {
    return this.opened.checked.width;
  }

  get height(): number {
    return this.opened.checked.height;
  }

  get fps(): number {
    return this.opened.checked.fps;
  }

  /** Frames that a clip adds which goes on from another one; the first one adds those that it would take over as well. */
  get framesPerClip(): number {
    const { clipFrames, overlap } = this.opened.checked;
    return clipFrames - overlap;
  }

  /**
   * Returns the next clip. One that fails or is cancelled leaves everything as it was before.
   *
   * @throws VdError `cancelled` within a step of the signal; as `StableVideoDiffusionPipeline.generate`
   */
  async nextClip(changes: ClipChanges = {}, signal?: AbortSignal): Promise<EndlessClip> {
    const signals = [signal, this.options.signal].filter((each) => each !== undefined);
    const options = { ...this.options, signal: AbortSignal.any(signals) };
    return withCallbacks(options, ["onProgress"], "endless video", (watched) =>
      this.host.inTurn(() => this.makeNext(watched, changes), watched.signal),
    );
  }

  /** Returns what all clips to come depend on. No clip may be under way. */
  state(): EndlessState {
    const { numClips, numFrames, settings, noise, scene, picture } = this;
    if (picture && isFloatImage(picture)) {
      const expected = "a picture of 8 bits before the first clip is made";
      throw new VdError({ code: "unsupported", where: "endless video", expected, got: "floats" });
    }
    return { numClips, numFrames, settings, noise, scene, picture: picture as RgbImage | undefined };
  }

  /**
   * Checks a state, which may come from anywhere; nothing changes, and a clip may be under way.
   *
   * @throws VdError `attr` for a state of something else
   */
  checkState(state: EndlessState): void {
    checkState(state, this.opened);
  }

  /**
   * Goes on from a state of a video of the same model and size. No clip may be under way.
   *
   * @throws VdError `attr` for a state of something else
   */
  restore(state: EndlessState): void {
    this.checkState(state);
    const { numClips, numFrames, settings, noise, scene, picture } = state;
    Object.assign(this, { numClips, numFrames, scene, noise, picture: scene ? undefined : picture });
    this.settings = changedSettings(this.settings, settings);
  }

  /** Frees what is loaded, once the clip under way has ended. Can be called again. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.host.inTurn(async () => this.unload(), undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private async unload(): Promise<void> {
    const { loader } = this;
    this.loader = undefined;
    this.layouts = undefined;
    await loader?.free();
  }

  private async makeNext(options: GenerateOptions, changes: ClipChanges): Promise<EndlessClip> {
    if (this.isClosed) {
      const [expected, got] = ["an open video", "a closed one"];
      throw new VdError({ code: "unsupported", where: "endless video", expected, got });
    }
    const { scratch } = this;
    // Parts of a clip that fails may write on for a moment: the next one gets arrays of its own.
    this.scratch = new Scratch();
    const settings = changedSettings(this.settings, changes);
    const run = await this.runOf({ ...options, ...settings, seed: changes.seed ?? options.seed }, scratch);
    if (changes.seed === undefined) await run.noise.goOnFrom(this.noise);
    const begins = await this.beginning(run.context, changes.image);
    const { frames, scene } = await makeClip(run, begins);
    this.scratch = scratch;
    return this.taken(run, { frames, scene, settings, beginsAnew: "picture" in begins });
  }

  /** Counts a finished clip. */
  private taken(
    { context, progress, noise }: GenerationRun,
    {
      frames,
      scene,
      settings,
      beginsAnew,
    }: { frames: Uint8Array; scene: Scene; settings: Settings; beginsAnew: boolean },
  ): EndlessClip {
    const { width, height, fps } = context.checked;
    const numFrames = frames.length / (3 * width * height);
    const [index, first] = [this.numClips++, this.numFrames];
    this.numFrames += numFrames;
    Object.assign(this, { scene, settings, picture: undefined });
    this.noise = noise.position();
    const { timings } = progress;
    return { index, first, numFrames, width, height, fps, steps: settings.steps, beginsAnew, frames, timings };
  }

  private async beginning(
    context: GenerationContext,
    image: PictureSource | FloatImage | undefined,
  ): Promise<ClipBeginning> {
    if (image !== undefined) return { picture: await loadFittedPicture(context, image) };
    if (this.scene) return { scene: this.scene };
    return { picture: this.picture! };
  }

  private async runOf(options: GenerateOptions, scratch: Scratch): Promise<GenerationRun> {
    const made = await this.host.context(options, scratch);
    // Stages run by turns and stay loaded: nothing is left to be loaded beside another one's work.
    const context: GenerationContext = { ...made, overlap: false };
    const { numFrames } = context.shape;
    const { pieces, streamBytes, pinning } = await this.settle(context);
    Object.assign(context, { streamBytes, pinning, shape: { ...context.shape, clipFrames: numFrames, ...pieces } });
    const progress = new Progress(context.options);
    const loader = this.loader!;
    const noise = new GenerationNoise(context, progress);
    return { context, progress, loader, loaders: [loader], noise, callsMade: noCalls() };
  }

  /** How clips use memory; what is loaded is let go of where the shape or the weights have changed. */
  private async settle(context: GenerationContext): Promise<SettledClips> {
    const { device, layouts, checked } = context;
    if (this.layouts === layouts && this.settled) return this.settled;
    await this.unload();
    const clip = { ...context, shape: { ...context.shape, clipFrames: context.shape.numFrames } };
    const counted = await layoutStages(clip);
    if (device.kind === "cpu") checkMemory(counted);
    await settlePinning(clip, counted);
    const { decodeChunk, decodeTiles, rowsApart } = clip.shape;
    const keeps = checked.memory === "full" && decodeTiles === undefined;
    this.loader = new StageLoader({ ...loaderOptions(clip), keeps });
    this.layouts = layouts;
    const { streamBytes, pinning } = clip;
    this.settled = { pieces: { decodeChunk, decodeTiles, rowsApart }, streamBytes, pinning };
    return this.settled;
  }
}

/** How all clips of a video use the device's memory. */
interface SettledClips extends Pick<GenerationContext, "streamBytes" | "pinning"> {
  pieces: Pick<GenerationContext["shape"], "decodeChunk" | "decodeTiles" | "rowsApart">;
}

/** The options as those of a generation of one clip. */
function withoutEnd(options: EndlessOptions): GenerateOptions {
  const { clipFrames } = options;
  return clipFrames === undefined ? options : { ...options, numFrames: clipFrames };
}
