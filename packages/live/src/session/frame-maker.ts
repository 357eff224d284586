import type { ClipChanges, EndlessState } from "@vd/svd-pipeline";
import type { DriftMeasure } from "../drift/types";
import type { FrameGuard } from "../model/record-frame";
import type { LiveLook } from "./look";
import type { PartTimes } from "./part-times";
import type { DriftGuardOptions, LiveParameters, LivePrecision } from "./types";

/** Which program makes a frame. */
export interface ProgramRequest {
  steps: number;
  deep: "none" | "compute" | "reuse";
  drift: boolean;
  /** The element type that was chosen; the device's own where there is no choice. */
  precision?: LivePrecision | undefined;
  /** Of games: the guard's rows; default none. */
  guard?: FrameGuard | undefined;
}

/** What one frame is made with. */
export interface FrameRequest extends ProgramRequest {
  action: number;
  /** Measure the program's rows. */
  timing: boolean;
  /** Receives the picture, RGB. */
  into: Uint8Array;
}

/** What a maker says of a frame besides its picture. */
export interface MadeFrame {
  index: number;
  drift: DriftMeasure | undefined;
  /** Mean absolute change against the frame before and against the frame of the deep features, where it is measured. */
  change: { frame: number; features: number } | undefined;
  /** Calls of the network that it took, where those are not what was asked for. */
  steps?: number | undefined;
}

/** Where a session of clips stands. */
export interface ClipsState {
  /** What the clip that is played was begun from. */
  before: EndlessState;
  /** What that clip was told, then the ones after it. */
  changes: readonly ClipChanges[];
  /** Frames of it that were handed over. */
  passed: number;
}

/** What the frames to come depend on. */
export interface EngineState {
  /** Number of the next frame. */
  index: number;
  /** Of a game: its context frames, [H,W,3 · frames] in [-1, 1]; of a stream of pictures: its latents on their way. */
  context: Float32Array;
  generator: Uint32Array;
  /** Of the noise that a guard adds. */
  contextGenerator?: Uint32Array | undefined;
  /** How far a guard is bringing back a picture that went dull, 0 (or nothing) to 1. */
  recovery?: number | undefined;
  /** Of a session of clips. */
  clips?: ClipsState | undefined;
}

/** Every amount of a guard. */
export type GuardAmounts = Required<{ [Name in keyof DriftGuardOptions]: number }>;

/** What makes a session's frames: one call at a time. */
export interface FrameMaker {
  readonly parts: PartTimes;
  /** Number of the next frame. */
  readonly index: number;
  /** True where {@link tell} may be called beside a frame under way. */
  readonly tellsAtOnce?: boolean;
  /** Milliseconds between frames that the model keeps up with, where it knows. */
  readonly frameMs?: number;
  /** Loads the program of such frames, unless it is loaded. The event loop turns meanwhile. */
  prepare(request: ProgramRequest): Promise<void>;
  /** Makes the next frame. */
  make(request: FrameRequest): Promise<MadeFrame>;
  /** Takes video in for the next frame. levels: [H,W,3], which may change after the call; blend: their part. */
  pushVideo(levels: Uint8Array, blend: number): void;
  /** Sets what the guard adds and holds. */
  setGuard(amounts: GuardAmounts, look: LiveLook): void;
  /** Takes words, strength and guidance; resolves when the next frame has them. */
  tell(parameters: LiveParameters): Promise<void>;
  /** Goes on from a start state; with drift, measures are compared with it from now on. */
  setContext(context: Float32Array, measured: boolean): Promise<void>;
  /** Numbers of a state's context at so many steps. */
  contextLength(steps: number): number;
  /** What the frames to come depend on, at so many steps. */
  save(steps: number): Promise<EngineState>;
  /** Goes on from a saved state. */
  restore(state: EngineState, steps: number): Promise<void>;
  /** Ends what is computed, so that {@link free} need not wait for it; the frame under way then fails. */
  cancel?(): void;
  /** Frees everything; no frame may be under way. */
  free(): Promise<void>;
}
