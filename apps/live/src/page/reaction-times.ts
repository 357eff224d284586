/** Newest key presses that the shown time is the median of. */
const KEPT = 15;

/** Times from key presses to the first picture that was made with them. */
export class ReactionTimes {
  private readonly waiting = new Map<number, number>();
  private readonly newest: number[] = [];
  private count = 0;

  /** Notes a change of the keys at `whenMs`. Returns its number. */
  press(whenMs: number): number {
    this.waiting.set(++this.count, whenMs);
    return this.count;
  }

  /** Notes that a picture has taken in the changes up to `input`, and was shown at `shownMs`. Returns true if that is news. */
  seen(input: number, shownMs: number): boolean {
    const times = [...this.waiting].filter(([number]) => number <= input);
    for (const [number, whenMs] of times) {
      this.waiting.delete(number);
      // Of several changes that one picture takes in only the last was waited for by itself.
      if (number === input) this.newest.push(shownMs - whenMs);
    }
    this.newest.splice(0, this.newest.length - KEPT);
    return times.length > 0;
  }

  /** Forgets the changes that no picture has taken in: those that wait for something else than a picture. */
  forget(): void {
    this.waiting.clear();
  }

  /** The median in milliseconds; undefined before the first. */
  get medianMs(): number | undefined {
    const sorted = [...this.newest].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)];
  }
}
