import type { SessionClock } from "./clock";

/** Calls back at a deadline and once a period from then on, until it is stopped. */
export class Repeats {
  private count = 0;
  private cancel: () => void;

  /** repeat: what is done each time; whether it counts. */
  constructor(
    private readonly clock: SessionClock,
    deadline: number,
    private readonly periodMs: number,
    private readonly repeat: () => boolean,
  ) {
    this.cancel = this.wait(deadline);
  }

  /** Ends it. Returns how many times counted. */
  stop(): number {
    this.cancel();
    return this.count;
  }

  private wait(time: number): () => void {
    return this.clock.at(time, () => {
      if (this.repeat()) this.count++;
      this.cancel = this.wait(time + this.periodMs);
    });
  }
}
