import type { SessionClock } from "../../src/session/clock";

interface Timer {
  time: number;
  callback(): void;
}

/** Lets everything run that waits for no timer. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements SessionClock {
  private time = 0;
  private timers: Timer[] = [];

  now(): number {
    return this.time;
  }

  at(time: number, callback: () => void): () => void {
    const timer = { time, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  /** Goes on by `ms`, timer by timer. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await settle();
    for (;;) {
      const [next] = this.timers.filter(({ time }) => time <= end).sort((a, b) => a.time - b.time);
      if (!next) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = Math.max(this.time, next.time);
      next.callback();
      await settle();
    }
    this.time = end;
  }
}
