import type { MemorySample } from "../record/recording";

/** The most bytes at any moment from `startUs` to `endUs`. samples: in the order of time; each holds until the next. */
export function peakWithin(samples: readonly MemorySample[], startUs: number, endUs: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples[middle]!.atUs <= startUs) low = middle + 1;
    else high = middle;
  }
  let peak = samples[low - 1]?.bytes ?? 0;
  for (let i = low; i < samples.length && samples[i]!.atUs <= endUs; i++) peak = Math.max(peak, samples[i]!.bytes);
  return peak;
}
