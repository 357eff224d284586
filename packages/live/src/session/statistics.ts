import type { DriftMeasure } from "../drift/types";
import type { PartTimes } from "./part-times";
import type { LivePrecision, LiveStats } from "./types";
import { ValueWindow } from "./window";

/** What is counted of a frame. finish: when it was ready. */
interface FrameFacts {
  steps: number;
  precision?: LivePrecision | undefined;
  latencyMs: number;
  finish: number;
}

/** What a session counts. */
export class SessionStatistics {
  frames = 0;
  repeated = 0;
  skipped = 0;
  misses = 0;
  stalls = 0;
  cached = 0;
  drift: DriftMeasure | undefined;
  private readonly steps = new Map<number, number>();
  private readonly precisions = new Map<LivePrecision, number>();
  private readonly latency = new ValueWindow();
  private readonly intervals = new ValueWindow();
  private lastFinish: number | undefined;

  /** Adds a frame that the model made. */
  addFrame({ steps, precision, latencyMs, finish }: FrameFacts): void {
    this.frames++;
    if (precision) this.precisions.set(precision, (this.precisions.get(precision) ?? 0) + 1);
    this.steps.set(steps, (this.steps.get(steps) ?? 0) + 1);
    this.latency.add(latencyMs);
    if (this.lastFinish !== undefined) this.intervals.add(finish - this.lastFinish);
    this.lastFinish = finish;
  }

  /** The next frame's interval is not counted: the session did not run meanwhile. */
  breakOff(): void {
    this.lastFinish = undefined;
  }

  report(parts: PartTimes): LiveStats {
    const { frames, repeated, skipped, misses, stalls, cached, drift } = this;
    const { mean } = this.intervals;
    return {
      ...{ frames, repeated, skipped, misses, stalls, cached, drift },
      steps: Object.fromEntries(this.steps),
      precisions: Object.fromEntries(this.precisions),
      latencyMs: this.latency.times(),
      jitterMs: this.intervals.deviation,
      fps: mean > 0 ? 1000 / mean : 0,
      parts: parts.means(),
    };
  }
}
