import { cancelledError } from "@vd/kernels-native";

/** Lets one piece of work run at a time; others wait in the order in which they came. */
export class Turns {
  private isTaken = false;
  /** What goes on when the work that ran last is over. */
  private rest: Promise<void> | undefined;
  private readonly waiting: (() => void)[] = [];

  /**
   * Runs `work`, at once if nothing else runs.
   *
   * @throws VdError `cancelled` as soon as the signal fires while it waits; what the work throws
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal | undefined, where: string): Promise<T> {
    if (this.isTaken) await this.ownTurn(signal, where);
    this.isTaken = true;
    try {
      return await work();
    } finally {
      if (this.rest) void this.rest.then(() => this.goOn());
      else this.goOn();
    }
  }

  /** Lets the next work wait for what goes on when the work that runs now is over; those who wait for this one do not. rest: never rejects. */
  extend(rest: Promise<void>): void {
    this.rest = rest;
  }

  /** Calls `then` when nothing goes on of the work that ran last. */
  whenOver(then: () => void): void {
    if (this.rest) void this.rest.then(then);
    else then();
  }

  private goOn(): void {
    this.rest = undefined;
    const next = this.waiting.shift();
    // The place stays taken for the next one, which begins a moment later.
    if (next) next();
    else this.isTaken = false;
  }

  private ownTurn(signal: AbortSignal | undefined, where: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        const place = this.waiting.indexOf(begin);
        if (place >= 0) this.waiting.splice(place, 1);
        reject(cancelledError(where, { signal }));
      };
      if (signal?.aborted) return giveUp();
      signal?.addEventListener("abort", giveUp, { once: true });
      this.waiting.push(begin);
    });
  }
}
