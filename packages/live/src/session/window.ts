import type { LiveTimes } from "./types";

/** Frames that percentiles are taken of. */
export const WINDOW = 1024;

/** The newest values of a series, in memory that is made once. */
export class ValueWindow {
  private readonly values = new Float64Array(WINDOW);
  private count = 0;

  add(value: number): void {
    this.values[this.count++ % WINDOW] = value;
  }

  private get held(): Float64Array {
    return this.values.subarray(0, Math.min(this.count, WINDOW));
  }

  get mean(): number {
    const { held } = this;
    return held.length === 0 ? 0 : held.reduce((sum, value) => sum + value, 0) / held.length;
  }

  /** Standard deviation. */
  get deviation(): number {
    const { held, mean } = this;
    return held.length === 0 ? 0 : Math.sqrt(held.reduce((sum, value) => sum + (value - mean) ** 2, 0) / held.length);
  }

  /** Mean, percentiles (the nearest rank) and the largest; zeros without values. */
  times(): LiveTimes {
    const sorted = this.held.slice().sort();
    const at = (part: number) => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
    return { mean: this.mean, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: sorted[sorted.length - 1] ?? 0 };
  }
}
