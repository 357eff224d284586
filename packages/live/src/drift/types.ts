import type { DeviceName } from "@vd/tensor";
import type { GuardAmounts } from "../session/frame-maker";
import type { DriftGuardOptions, LiveSessionOptions } from "../session/types";

/** How a frame of a long game looks, and how far it is from the game's start. Pixels are in [-1, 1]. */
export interface DriftMeasure {
  /** Number of the frame. */
  readonly frame: number;
  /** Mean of each channel. */
  readonly mean: readonly [red: number, green: number, blue: number];
  /** Mean over the channels of the standard deviation over the frame. */
  readonly contrast: number;
  /** Mean absolute difference of neighbouring pixels, over both directions. */
  readonly detail: number;
  /** Standard deviation of the difference to the frame before. */
  readonly temporal: number;
  /** Mean of the largest less the smallest channel. */
  readonly saturation: number;
  /** Entropy of the soft histogram of colours, four levels a channel, of the picture at half its size, in bits: 0 to 6. */
  readonly colourEntropy: number;
  /** Distance of the mean colour from that of the start state. */
  readonly colourDrift: number;
  /** Mean absolute difference, over pictures of 8 by 8 pixels' means, to the nearest earlier measured frame; 1 for the first. */
  readonly repetition: number;
  /** 0: as lively as the start state; 1: a single colour. See {@link collapseScore}. */
  readonly collapse: number;
}

/** How a drift run plays. */
export interface DriftOptions extends Pick<LiveSessionOptions, "picture" | "motion" | "distilled" | "clips" | "size"> {
  /** The folder of a model with live.json, or of a model of clips. Default: the bundled tiny-live. */
  model?: string | undefined;
  /** Frames to play; default 2000. */
  frames?: number | undefined;
  /** Frames from one measure to the next; default 10. */
  everyFrames?: number | undefined;
  /** Calls of the network for a frame; default the model's. */
  steps?: number | undefined;
  /** A start state by its name; default the model's first. */
  start?: string | undefined;
  /** Seed of noise and play; default 0. */
  seed?: number | undefined;
  /** What holds the game together; default as of a session. */
  guard?: DriftGuardOptions | boolean | undefined;
  /** Threads on the CPU. */
  threads?: number | undefined;
  /** Where the network runs; default `cpu`. */
  device?: DeviceName | undefined;
  /** Called with each measure. */
  onMeasure?: ((measure: DriftMeasure) => void) | undefined;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
}

/** Mean of a stretch of measures. */
export type DriftSummary = Omit<DriftMeasure, "frame" | "mean"> & {
  readonly frames: readonly [first: number, last: number];
};

/** What a drift run found. */
export interface DriftReport {
  readonly model: string;
  readonly start: string;
  readonly steps: number;
  readonly seed: number;
  readonly frames: number;
  readonly guard: Readonly<GuardAmounts>;
  readonly measures: readonly DriftMeasure[];
  /** Over the first and the last tenth of the run. */
  readonly atStart: DriftSummary;
  readonly atEnd: DriftSummary;
  /** True if the last tenth has lost more than half of what the first had: see {@link hasCollapsed}. */
  readonly collapsed: boolean;
}
