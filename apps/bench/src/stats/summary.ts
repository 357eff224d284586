/** Repeated measurements of one thing. */
export interface Summary {
  medianUs: number;
  /** Median of the distances to the median: the spread, whatever a few outliers do. */
  madUs: number;
  samplesUs: number[];
}

/** The middle of some numbers, or of the two middle ones their mean; NaN of none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** The value that a part of sorted numbers does not exceed, the nearest of them; NaN of none. part: from 0 to 1. */
export function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.round(part * (sorted.length - 1))] ?? Number.NaN;
}

/** Median and spread of samples. */
export function summarize(samplesUs: readonly number[]): Summary {
  const medianUs = median(samplesUs);
  return { medianUs, madUs: median(samplesUs.map((us) => Math.abs(us - medianUs))), samplesUs: [...samplesUs] };
}

/** Samples below which a median says little: such rows are marked wherever they are shown. */
export const LEAST_SAMPLES = 3;

/** Number of samples behind a median; a median that came without its samples counts as one. */
export const numSamples = ({ samplesUs }: Partial<Summary>): number => samplesUs?.length ?? 1;

/** Returns "1 sample" or "2 samples" for a median of too few of them, else undefined. */
export function tooFewSamples(summary: Partial<Summary>): string | undefined {
  const count = numSamples(summary);
  if (summary.medianUs === undefined || count >= LEAST_SAMPLES) return undefined;
  return `${count} sample${count === 1 ? "" : "s"}`;
}

/** Returns 10 · log10(255² / mean squared difference) of two pictures in bytes, in dB. */
export function psnrOfBytes(a: Uint8Array, b: Uint8Array): number {
  let squares = 0;
  for (let i = 0; i < a.length; i++) squares += (a[i]! - b[i]!) ** 2;
  return 10 * Math.log10((255 * 255 * a.length) / squares);
}

/** Returns the largest distance of two values in the same place. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i]! - b[i]!));
  return most;
}

/**
 * ‖a − b‖ / ‖b‖, of all elements.
 *
 * @throws RangeError for lengths that differ
 */
export function relativeL2(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) throw new RangeError(`${a.length} numbers beside ${b.length}`);
  let [difference, norm] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    const d = a[i]! - b[i]!;
    difference += d * d;
    norm += b[i]! * b[i]!;
  }
  return Math.sqrt(difference / norm);
}
