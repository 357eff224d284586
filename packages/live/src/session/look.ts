import { type Pausable, pausable } from "@vd/tensor";

const CHANNELS = 3;

/** How a start state looks: what a guard holds a game to. Pixels are in [-1, 1]. */
export interface LiveLook {
  /** Mean of each channel. */
  readonly mean: readonly number[];
  /** Standard deviation of each channel. */
  readonly deviation: readonly number[];
  /** Mean of the deviations. */
  readonly contrast: number;
  /** Mean absolute difference of neighbours in a row. */
  readonly detail: number;
}

const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const areChannels = (values: unknown) => Array.isArray(values) && values.length === CHANNELS && values.every(isNumber);

/** True for a look, whatever `value` is. */
export function isLook(value: unknown): value is LiveLook {
  if (typeof value !== "object" || value === null) return false;
  const { mean, deviation, contrast, detail } = value as Partial<LiveLook>;
  return areChannels(mean) && areChannels(deviation) && isNumber(contrast) && isNumber(detail);
}

/** Values between two pauses. */
const PIECE = 16_384;

/** Returns how the frames of a context look, all of them together. context: [H,W,3 · frames] of so many pixels a row. Pauses. */
export const lookOf = pausable(function* (
  context: Float32Array,
  { width, height }: { width: number; height: number },
): Pausable<LiveLook> {
  const count = context.length / CHANNELS;
  const mean = [0, 0, 0];
  const square = [0, 0, 0];
  for (let i = 0; i < context.length; i++) {
    mean[i % CHANNELS]! += context[i]! / count;
    square[i % CHANNELS]! += context[i]! ** 2 / count;
    if (i % PIECE === 0) yield;
  }
  const deviation = square.map((value, c) => Math.sqrt(Math.max(0, value - mean[c]! ** 2)));
  const pixel = context.length / (width * height);
  let differences = 0;
  for (let i = 0; i + pixel < context.length; i++) {
    const isLast = Math.floor(i / pixel) % width === width - 1;
    if (!isLast) differences += Math.abs(context[i + pixel]! - context[i]!);
    if (i % PIECE === 0) yield;
  }
  const detail = differences / Math.max(1, (width - 1) * height * pixel);
  return { mean, deviation, contrast: deviation.reduce((sum, value) => sum + value, 0) / CHANNELS, detail };
});
