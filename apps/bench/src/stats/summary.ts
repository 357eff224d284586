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

/** Median and spread of samples. */
export function summarize(samplesUs: readonly number[]): Summary {
  const medianUs = median(samplesUs);
  return { medianUs, madUs: median(samplesUs.map((us) => Math.abs(us - medianUs))), samplesUs: [...samplesUs] };
}

/** ‖a − b‖ / ‖b‖, of all elements. Throws RangeError for lengths that differ. */
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
