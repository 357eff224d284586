import type { SessionClock } from "./clock";

/** The ticks of a session's clock: one every period, from the first frame on. What lies between is the frames' time. */
export class Ticks {
  private origin: number | undefined;
  /** The tick of the next frame. */
  next = 0;

  constructor(
    private readonly clock: SessionClock,
    private periodMs: number,
  ) {}

  /** Takes another time between ticks, counted from the newest one. */
  stretch(periodMs: number): void {
    if (this.origin !== undefined) this.origin += (this.next - 1) * (this.periodMs - periodMs);
    this.periodMs = periodMs;
  }

  /** When the next frame is begun. The clock starts with the first call. */
  due(): number {
    this.origin ??= this.clock.now() - this.next * this.periodMs;
    return this.origin + this.next * this.periodMs;
  }

  /** Moves on behind a frame that is finished. Returns how many ticks have gone by without one. */
  advance(): number {
    const begun = this.next;
    const passed = Math.floor((this.clock.now() - this.due()) / this.periodMs);
    this.next = Math.max(begun + 1, begun + passed);
    return this.next - begun - 1;
  }

  /** Stops the clock: the next tick is as soon as it is asked for. */
  stop(): void {
    this.origin = undefined;
  }
}
