import { shown, VdError } from "@vd/kernels-native";
import type { RgbImage } from "@vd/media";
import type { EndlessVideo } from "@vd/svd-pipeline";
import { DriftMeter } from "../drift/meter";
import type { ClipsState, EngineState, FrameMaker, FrameRequest, MadeFrame } from "../session/frame-maker";
import { PartTimes } from "../session/part-times";
import type { LiveParameters } from "../session/types";
import { areChanges } from "./clip-changes";
import { ClipSource, type PlayedClip } from "./clip-source";
import { pictureOfPixels, sessionPicture } from "./pictures";

/** Weight of the newest clip in the running mean of what clips take. */
const NEWEST = 0.5;
/** How much longer than a clip takes to be made it is played where playing slows down. */
const HEADROOM = 1.05;
/** A state of the noise's generator: that of the clips is in their own state. */
const NO_GENERATOR = () => new Uint32Array(625);

/** Checks what a snapshot, which may come from anywhere, says of its clip, so that none fails when its turn has come. */
function checkClips(clips: ClipsState | undefined, video: EndlessVideo): ClipsState {
  const isWhole = Number.isSafeInteger(clips?.passed) && clips!.passed >= 0;
  const { changes } = clips ?? {};
  if (!isWhole || !Array.isArray(changes) || !changes.every((each) => areChanges(each, video))) {
    const [where, expected] = ["session] [restore] [clips", "the state of a session of clips"];
    throw new VdError({ code: "attr", where, expected, got: shown(clips) });
  }
  video.checkState(clips!.before);
  return clips!;
}

/** How an engine is opened. */
export interface ClipEngineOptions {
  /** Opened for this session, which closes it. */
  video: EndlessVideo;
  /** The guidance at a clip's first frame where it is less than at the last. */
  minGuidance: number;
  /** Measure drift. */
  measures: boolean;
  /** Called when everything is freed. */
  onFreed(): void;
}

/** Hands over the frames of clips that follow each other without an end; the next clip is made while one is played. */
export class ClipEngine implements FrameMaker {
  readonly parts = new PartTimes();
  /** Parameters go to the clip that is begun next, beside frames that are handed over. */
  readonly tellsAtOnce = true;
  private readonly source: ClipSource;
  private clip: PlayedClip | undefined;
  /** Frames of the clip that were handed over. */
  private at = 0;
  /** Frames of the next clip that are passed over. */
  private passed = 0;
  private made = 0;
  private steps: number | undefined;
  private last: Uint8Array | undefined;
  private clipMs: number | undefined;

  private constructor(
    private readonly options: ClipEngineOptions,
    private readonly meter: DriftMeter | undefined,
  ) {
    this.source = new ClipSource(options.video);
  }

  /**
   * Prepares the measures; clips are made when the first frame is asked for.
   *
   * @throws VdError `memory`
   */
  static async open(options: ClipEngineOptions): Promise<ClipEngine> {
    return new ClipEngine(options, options.measures ? await DriftMeter.open(options.video) : undefined);
  }

  get index(): number {
    return this.made;
  }

  /** Milliseconds between frames at which each clip is ready when the one before ends. */
  get frameMs(): number {
    return ((this.clipMs ?? 0) * HEADROOM) / this.options.video.framesPerClip;
  }

  /** Everything is loaded with the first clip. */
  async prepare(): Promise<void> {}

  async make({ steps, into, drift }: FrameRequest): Promise<MadeFrame> {
    const begun = performance.now();
    if (steps !== this.steps) this.source.tell({ steps });
    this.steps = steps;
    if (!this.clip || this.at >= this.clip.numFrames) await this.play();
    const { frames, numFrames } = this.clip!;
    const waited = performance.now();
    const length = frames.length / numFrames;
    const frame = frames.subarray(this.at * length, (this.at + 1) * length);
    this.at++;
    into.set(frame);
    const before = this.last ?? frame;
    const measured = drift ? await this.meter?.measure(this.made, frame, before) : undefined;
    this.last = frame;
    this.parts.add("wait", waited - begun);
    this.parts.add("output", performance.now() - waited);
    return { index: this.made++, drift: measured, change: undefined, steps: this.clip!.steps };
  }

  /** Goes on to the next clip. */
  private async play(): Promise<void> {
    const clip = await this.source.take();
    this.clip = clip;
    this.at = Math.min(this.passed, clip.numFrames - 1);
    this.passed = 0;
    this.clipMs = this.clipMs === undefined ? clip.ms : this.clipMs + NEWEST * (clip.ms - this.clipMs);
    for (const [part, us] of Object.entries(clip.timings)) this.parts.add(`clip.${part}`, us / 1000 / clip.numFrames);
  }

  /** A picture with which the clip begins that is begun next. */
  pushVideo(levels: Uint8Array): void {
    const { width, height } = this.options.video;
    this.beginWith({ width, height, data: levels.slice() });
  }

  private beginWith(image: RgbImage): void {
    this.source.tell({ image });
  }

  async tell({ picture, motion, seed, guidanceScale }: LiveParameters): Promise<void> {
    // Read before anything is changed: a picture that cannot be read changes nothing.
    if (picture !== undefined) this.beginWith(await sessionPicture(picture, this.options.video));
    if (motion !== undefined) this.source.tell({ motionBucketId: motion });
    if (seed !== undefined) this.source.tell({ seed });
    if (guidanceScale === undefined) return;
    const minGuidance = Math.min(this.options.minGuidance, guidanceScale);
    this.source.tell({ minGuidance, maxGuidance: guidanceScale });
  }

  setGuard(): void {}

  /** Begins anew with a picture, [H,W,3] in [-1, 1], from the next frame on; without one nothing changes. */
  async setContext(pixels: Float32Array): Promise<void> {
    if (pixels.length === 0) return;
    await this.drop();
    this.beginWith(pictureOfPixels(pixels, this.options.video));
  }

  contextLength(): number {
    return 0;
  }

  async save(): Promise<EngineState> {
    const { clip, source, options, made } = this;
    const clips: ClipsState = clip
      ? { before: clip.before, changes: [clip.changes, ...source.later], passed: this.at }
      : { before: options.video.state(), changes: source.later, passed: this.passed };
    return { index: made, context: new Float32Array(), generator: NO_GENERATOR(), clips: structuredClone(clips) };
  }

  /** Goes on in the middle of a clip, which is made again. */
  async restore({ index, clips }: EngineState, steps: number): Promise<void> {
    const { before, changes, passed } = checkClips(clips, this.options.video);
    await this.drop();
    this.options.video.restore(before);
    this.source.restore(changes);
    this.passed = passed;
    this.steps = steps;
    this.made = index;
  }

  /** Lets go of what is played and what is made ahead. */
  private async drop(): Promise<void> {
    await this.source.cancel();
    this.clip = undefined;
    [this.at, this.passed] = [0, 0];
    this.last = undefined;
    this.meter?.clear();
  }

  cancel(): void {
    this.source.end();
  }

  async free(): Promise<void> {
    this.source.end();
    await this.source.cancel();
    await this.options.video.close();
    await this.meter?.free();
    this.options.onFreed();
  }
}
