import type { PictureSource } from "@vd/media";
import type { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import type { DeviceList, DeviceName } from "@vd/tensor";
import type { RandomModel } from "../diffusion/random-models";
import type { GuidanceKind } from "../diffusion/types";
import type { DriftMeasure } from "../drift/types";
import type { LiveModelInfo } from "../model/types";
import type { ClipsState } from "./frame-maker";
import type { LiveLook } from "./look";

/** Every policy for a frame that misses its deadline, the default first. */
export const DEADLINE_POLICIES = ["skip", "repeat", "fewer-steps", "slow-down"] as const;

/**
 * What becomes of a frame that misses its deadline. `skip`: it is handed over when it is ready, and the ticks that passed
 * meanwhile have no frame. `repeat`: the reader gets the frame before once more at the deadline, and the late one as soon as it
 * is ready. `fewer-steps`: as `skip`, and the frames after it take the model's next smaller number of steps until there is time again.
 * `slow-down`, of models of clips: as `skip`, and the clock then goes as slowly as clips are made, so that the next ones are in time.
 * Models of clips know no `fewer-steps`.
 */
export type DeadlinePolicy = (typeof DEADLINE_POLICIES)[number];

/** Who decides when a frame is made. `clock`: one is begun at every tick, `fps` times a second. `reader`: one is begun when the
 *  reader asks for it, for files, tests and measurements: what was done before a frame was asked for always counts for it. */
export type LivePace = "clock" | "reader";

/** A picture: its rows from the top, three bytes a pixel. */
export interface LivePicture {
  width: number;
  height: number;
  /** RGB, [height, width, 3], or RGBA with four bytes a pixel, whose alpha is ignored. */
  data: Uint8Array | Uint8ClampedArray;
}

/** One frame as a session hands it over. */
export interface LiveFrame {
  /** Of the frames that the model made, from 0; a repeated frame keeps its number. */
  readonly index: number;
  /** The tick of the session's clock at which it was begun; ticks that were skipped are missing. */
  readonly tick: number;
  readonly width: number;
  readonly height: number;
  /** RGB, [height, width, 3]: a place in the session's ring, whose contents change after the next frame is asked for. `slice()` keeps them. */
  readonly data: Uint8Array;
  /** The action that it was made with. */
  readonly action: string;
  /** Calls of the network that it took. */
  readonly steps: number;
  /** True for the frame before once more, which stands for one that is late. */
  readonly repeated: boolean;
  /** True if it was ready after its deadline. */
  readonly late: boolean;
  /** True if the network's deep features are those of an earlier frame. */
  readonly cached: boolean;
  /** From the edge at which actions were taken to the finished picture, in milliseconds. */
  readonly latencyMs: number;
  /** What was measured of it, every `drift.everyFrames` frames. */
  readonly drift: DriftMeasure | undefined;
}

/** What holds a long game together; each is off at 0. */
export interface DriftGuardOptions {
  /** Standard deviation of the noise that is added to the context before every frame, in units of pixels in [-1, 1]. Default 0. */
  renoise?: number | undefined;
  /** How far each frame's mean and contrast per channel are drawn towards those of the start state, 0 to 1. Default 0. */
  anchor?: number | undefined;
  /** How far they are drawn there while the picture is dull, 0 to 1: from when less than two thirds of the start's contrast or detail are left for a
   *  while until it is lively again. A lively picture is left as it is in every bit. Default 0.05. */
  recover?: number | undefined;
}

/** Temporal caching: the network's deep features are those of an earlier frame while the picture changes little. */
export interface FeatureCacheOptions {
  /** Largest mean change of the context since the features were computed, in units of pixels in [-1, 1]. Default 0.04. */
  maxChange?: number | undefined;
  /** Most frames that share deep features. Default 2. */
  maxAge?: number | undefined;
}

/** Element types that a network can compute in. */
export const LIVE_PRECISIONS = ["float32", "float16", "bfloat16"] as const;

/** The element type of a network's activations and weights. */
export type LivePrecision = (typeof LIVE_PRECISIONS)[number];

/** Every element type that a session can be given. */
export const SESSION_PRECISIONS = [...LIVE_PRECISIONS, "float8"] as const;

/** An element type that a session can be given. */
export type SessionPrecision = (typeof SESSION_PRECISIONS)[number];

/** The controller that chooses the number of steps, and perhaps the element type, frame by frame. */
export interface AdaptiveOptions {
  /** The part of the deadline that a frame may take, 0 to 1. Default 0.8. */
  headroom?: number | undefined;
  /** Most steps that it chooses; default the session's `steps`. */
  maxSteps?: number | undefined;
  /** Mean change between two frames below which one step is enough; default 0.01. */
  quietChange?: number | undefined;
  /** Of models of pictures on one device: element types that it chooses from, the most precise first; the first whose frames fit `headroom` of the
   *  deadline counts. Weights of all of them are loaded. Default: the device's own type alone. */
  precisions?: readonly LivePrecision[] | undefined;
}

/** Leaves out frames whose pictures hardly differ from the last one that a frame was made of; the frame before is shown once more. */
export interface SimilarityOptions {
  /** Cosine of two pictures above which frames are left out by chance, the more probably the nearer it is to 1. Default 0.98. */
  threshold?: number | undefined;
  /** Most frames in a row that are left out. Default 10. */
  maxSkip?: number | undefined;
}

/**
 * Draws each frame's latents towards those of the frame before, so that what stands still flickers less.
 *
 * @example
 * ```ts
 * const session = await createLiveSession({
 *   model: "stable-diffusion-turbo",
 *   prompt: "a painting of a harbour",
 *   temporalBlend: { weight: 0.3, threshold: 0.5 },
 * });
 * ```
 */
export interface TemporalBlendOptions {
  /** The part of the frame before, 0 to 1. */
  weight: number;
  /** The largest difference of any channel of the latents, in units of about their deviation, up to which a latent pixel is blended:
   *  what moves by more keeps no trace of the frame before. Default: every pixel is blended. */
  threshold?: number | undefined;
}

/** What `session.set` changes at the next frame's edge; what is left out stays. */
export interface LiveParameters {
  /** Calls of the network for a frame: one of the model's choices. */
  steps?: number | undefined;
  /** Milliseconds from a frame's edge to its deadline. */
  deadlineMs?: number | undefined;
  /** What becomes of a frame that misses it. */
  policy?: DeadlinePolicy | undefined;
  /** The part of a pushed picture in the newest context frame, 0 to 1. */
  blend?: number | undefined;
  /** Of games: what holds them together, on by default; `false` turns all of it off. */
  guard?: DriftGuardOptions | boolean | undefined;
  /** Of models of pictures: what frames show; default nothing. */
  prompt?: string | undefined;
  /** Of models of pictures: what guidance leads away from; default nothing. */
  negativePrompt?: string | undefined;
  /** Of models of pictures: how far frames may leave their pictures, above 0 to 1: where in the model's noise the first step stands. Default 0.5. */
  strength?: number | undefined;
  /** Of models of pictures: how far guidance leads, 1 for nowhere. Default 1.2; of models that are told it, 8. Of models of clips: the guidance
   *  of a clip's last frame; default the model's, which is 1 where it is distilled. */
  guidanceScale?: number | undefined;
  /** Of models of pictures: part of the residual noise in guidance of the kinds `self` and `initialize`. Default 1. */
  delta?: number | undefined;
  /** Of models of clips: the picture that begins to move. When it is set, the clip that is begun next begins with it. */
  picture?: PictureSource | LivePicture | undefined;
  /** Of models of clips: how much moves, 1 to 255; default the model's. */
  motion?: number | undefined;
  /** Of models of clips: the noise begins anew with this seed. */
  seed?: number | bigint | undefined;
}

/** How clips follow each other. */
export interface ClipOptions {
  /** Frames of a clip; default the model's. */
  frames?: number | undefined;
  /** Frames that a clip takes over from the one before; default 4. */
  overlap?: number | undefined;
  /** How much of the drift of colours is taken back, 0 to 1. Default 1. */
  holdColours?: number | undefined;
}

/** How a session is created. */
export interface LiveSessionOptions extends LiveParameters {
  /** A model with live.json, of the Stable Diffusion class, or of Stable Video Diffusion: its folder, or a file with all of it; of the last also an
   *  open pipeline, which stays open. Default: the bundled tiny-live. */
  model?: string | StableVideoDiffusionPipeline | undefined;
  /** Of models of clips: how they follow each other. */
  clips?: ClipOptions | undefined;
  /** Of models of clips: whether the model is distilled for few steps without guidance; default as its files and names say. */
  distilled?: boolean | undefined;
  /** Random weights of a published layout, or of the reference for real-time work, instead of a model, for measurements. */
  random?: RandomModel | undefined;
  /** Of models of pictures: a tiny autoencoder in place of the model's own, its folder or file. */
  autoencoder?: string | undefined;
  /** Of models of pictures: the folder with vocab.json and merges.txt, for files that hold none. */
  tokenizer?: string | undefined;
  /** Of models of pictures: the kind of guidance. Default `none`. */
  guidance?: GuidanceKind | undefined;
  /** Of models of pictures: blends each frame's latents with those of the frame before, where they differ by `threshold` at most
   *  (default: wherever), `weight` of it being the frame before. Default off. */
  temporalBlend?: TemporalBlendOptions | undefined;
  /** Of models of pictures: leaves out frames of pictures that hardly differ. Default off. */
  similarity?: SimilarityOptions | boolean | undefined;
  /** Width and height in pixels; default the model's. */
  size?: { width: number; height: number } | undefined;
  /** Frames a second of the session's clock; default the model's. */
  fps?: number | undefined;
  /** Who decides when a frame is made; default `clock`. */
  pace?: LivePace | undefined;
  /** Finished frames that may wait for the reader, 1 to 64; then the session stops until one is read. Default 2. */
  queueFrames?: number | undefined;
  /** A start state by its name, or its pictures, oldest first. Default: the model's first. */
  start?: string | readonly LivePicture[] | undefined;
  /** Seed of the noise, as `torch.Generator().manual_seed`; default 0. */
  seed?: number | bigint | undefined;
  /** Where the network runs: `cpu`, `cuda`, one of several GPUs as `cuda:1`, or `auto` for a GPU if one can be used; default `cpu`. */
  device?: DeviceName | undefined;
  /** Two devices, of models of pictures: the denoiser runs on the first and the autoencoder on the second, which decodes a frame while the next one is
   *  denoised; a picture's frame then comes two frames later. GPUs by number or as `cuda:1`, or `cpu` twice. In place of `device`. */
  devices?: DeviceList | undefined;
  /** Of models of pictures on one device: the element type of activations; `float8`, of the random `unet-chain` alone, is float16 with the products of
   *  its wide layers in float8. Default float32 on the CPU, which has no other, and float16 on GPUs. */
  precision?: SessionPrecision | undefined;
  /** Of models of pictures on one device: frames that are begun before the one that is handed over is finished. 0: each frame is made of the newest
   *  picture. 1 or 2: the device never waits for pictures that come and go, and a picture's frame comes so many frames later; on a GPU frames that need
   *  nothing of each other (one step, no guidance by the stream's own noise, no temporal blend, `blend` 1) are computed beside each other. Default 0. */
  ahead?: 0 | 1 | 2 | undefined;
  /** Threads on the CPU; default as everywhere, `VD_THREADS` or the number of cores. */
  threads?: number | undefined;
  /** Deep features of earlier frames; default off. */
  cache?: FeatureCacheOptions | boolean | undefined;
  /** Steps by head-room and content; default off. */
  adaptive?: AdaptiveOptions | boolean | undefined;
  /** Measure drift every so many frames; 0 for never, which is the default. */
  drift?: { everyFrames: number } | undefined;
  /** Time the rows of every so many frames, for `stats().parts`; 0 for never, which is the default. */
  timeEvery?: number | undefined;
  /** Closes the session. */
  signal?: AbortSignal | undefined;
}

/** Percentiles of a session's newest frames, in milliseconds. */
export interface LiveTimes {
  mean: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** What a session has measured of itself. */
export interface LiveStats {
  /** Frames that the model made. */
  frames: number;
  /** Frames that were handed over a second time. */
  repeated: number;
  /** Ticks that have no frame. */
  skipped: number;
  /** Frames that missed their deadline. */
  misses: number;
  /** Times that the session waited for a slow reader. */
  stalls: number;
  /** Frames whose deep features were those of an earlier frame. */
  cached: number;
  /** Frames by their number of steps. */
  steps: Readonly<Record<number, number>>;
  /** Frames by the element type that was chosen for them; empty where none is chosen. */
  precisions: Readonly<Partial<Record<LivePrecision, number>>>;
  /** From the edge at which actions were taken to the finished picture, of the newest 1,024 frames. */
  latencyMs: LiveTimes;
  /** Standard deviation of the time between two finished frames, in milliseconds, of the newest 1,024 frames; pauses are left out. */
  jitterMs: number;
  /** Finished frames a second, of the newest 1,024: as many as the reader takes, where that is slow; pauses are left out. */
  fps: number;
  /** Mean milliseconds a frame by part. `noise`: waited for it; `inputs`: written; `run`: the native call; `output`: read. With `timeEvery` the parts of
   *  the native call too, `run.context`, `run.network`, `run.sampler`, `run.frame`, `run.drift`. */
  parts: Readonly<Record<string, number>>;
  /** The newest measure of drift. */
  drift: DriftMeasure | undefined;
}

/** Everything that a session needs to go on from a frame, as plain data that can be stored and sent. */
export interface LiveSnapshot {
  readonly format: "vd-live/1";
  /** Name of the model that it belongs to. */
  readonly model: string;
  readonly width: number;
  readonly height: number;
  /** Number of the next frame. */
  readonly index: number;
  readonly action: string;
  readonly steps: number;
  /** Context frames in [-1, 1], channels last, oldest first: [height, width, 3 · frames]. */
  readonly context: Float32Array;
  /** The noise generator: 624 words and the position of the next one. */
  readonly generator: Uint32Array;
  /** The same of the noise that a guard adds to the context. */
  readonly contextGenerator?: Uint32Array | undefined;
  /** How far a guard is bringing back a dull picture, 0 (or nothing) to 1. */
  readonly recovery?: number | undefined;
  /** Of games: what a guard holds frames to; default what the session holds them to that goes on. */
  readonly look?: LiveLook | undefined;
  /** Of models of clips: the clip, and how much of it was handed over. */
  readonly clips?: ClipsState | undefined;
}

/**
 * A running model: frames are read from it with `for await`, and steered while it runs. Each frame is handed over once: loops that read at the
 * same time share the frames, and the first one that is left closes the session for all.
 *
 * @example
 * ```ts
 * import { createLiveSession } from "@vd/live";
 *
 * const session = await createLiveSession({ fps: 25 });
 * session.act("right");
 * for await (const frame of session) {
 *   console.log(frame.index, frame.latencyMs);
 *   if (frame.index === 50) session.act("jump");
 *   if (frame.index === 100) break; // closes the session
 * }
 * ```
 */
export interface LiveSession extends AsyncIterable<LiveFrame> {
  readonly model: LiveModelInfo;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  /** True between `pause` and `resume`. */
  readonly paused: boolean;
  /** True after `close`, or when the reading loop ended. */
  readonly closed: boolean;
  /**
   * Takes a picture of the session's size as video in: it becomes the newest context frame, by `blend`, at the next frame's edge. Of several between
   * two edges the last one counts. Of models of clips: the clip that is begun next begins with it.
   *
   * @throws VdError `shape` for another size, `unsupported` for a closed session
   */
  push(picture: LivePicture): void;
  /**
   * Does `action` (its name or number) from the next frame's edge until another one follows. Each acts for one frame at least: the
   * model's first action, which is doing nothing, waits for its turn.
   *
   * @throws VdError `attr` for an action that the model does not know
   */
  act(action: string | number): void;
  /**
   * Changes parameters from the next frame's edge on, calls in their order; of models of clips, what clips are made with counts for the clip that is begun next, which is
   * when another one begins to be handed over. A number of steps whose program is not loaded yet takes effect as soon as it is; the promise
   * then settles.
   *
   * @throws VdError `attr`
   */
  set(parameters: LiveParameters): Promise<void>;
  /** Stops before the next frame; settles when the frame under way is finished. Its clock stops too. */
  pause(): Promise<void>;
  /** Goes on after a pause. */
  resume(): void;
  /** Returns the state behind the newest frame that was made; waits for the one under way. */
  snapshot(): Promise<LiveSnapshot>;
  /**
   * Goes on from a snapshot of the same model and size. Frames that nobody has read are dropped.
   *
   * @throws VdError `attr` for a snapshot of something else
   */
  restore(snapshot: LiveSnapshot): Promise<void>;
  /**
   * Starts again from a start state: its name, or its pictures, oldest first. Frames that nobody has read are dropped.
   *
   * @throws VdError `attr` or `shape`
   */
  restart(start?: string | readonly LivePicture[]): Promise<void>;
  /** What was measured so far. */
  stats(): LiveStats;
  /** Ends the frame under way, the iteration and the session, and frees its memory. Can be called again. */
  close(): Promise<void>;
}
