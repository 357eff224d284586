/** Changes that wait for a frame at most. */
const MOST_WAITING = 64;

/** Follows a page's key presses to the first frame that was made with them. */
export class InputTracker {
  private readonly pressed: { input: number; action: string }[] = [];
  private taken = 0;

  /** Notes that a change of keys, numbered by the page, has led to an action. */
  press(input: number, action: string): void {
    this.pressed.push({ input, action });
    // A game that stands still takes in nothing, and a page may press for ever.
    if (this.pressed.length > MOST_WAITING) this.pressed.shift();
  }

  /** Returns the number of the newest change that a frame made with `action` has taken in. Actions follow in the order of the changes, each for a frame at
   *  least unless the next one replaced it, so that the first equal one is meant. */
  takenIn(action: string): number {
    const index = this.pressed.findIndex((each) => each.action === action);
    if (index >= 0) this.taken = this.pressed.splice(0, index + 1).at(-1)!.input;
    return this.taken;
  }
}
