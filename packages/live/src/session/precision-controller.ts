import type { LivePrecision } from "./types";

/** Weight of the newest frame in a running mean. */
const NEWEST = 0.2;
/** The part of the deadline that a frame may take, by default. */
const HEADROOM = 0.8;
/** Frames at one element type before the next more precise one is tried again. */
const RETRY_FRAMES = 300;

/** Chooses the element type frame by frame: the most precise one whose frames fit the deadline. */
export class PrecisionController {
  /** Running mean of the time of a step at each of the choices; undefined until one was made. */
  private readonly stepMs: (number | undefined)[];
  private at = 0;
  private frames = 0;

  /** choices: the most precise first. headroom: the part of the deadline that a frame may take. */
  constructor(
    readonly choices: readonly LivePrecision[],
    private readonly headroom = HEADROOM,
  ) {
    this.stepMs = choices.map(() => undefined);
  }

  /** The element type of the next frame, of so many steps at most. */
  next(steps: number, deadlineMs: number): LivePrecision {
    if (this.frames >= RETRY_FRAMES && this.at > 0) this.stepMs[this.at - 1] = undefined;
    const fits = (ms: number | undefined) => ms === undefined || ms * steps <= this.headroom * deadlineMs;
    const first = this.stepMs.findIndex(fits);
    const chosen = first < 0 ? this.choices.length - 1 : first;
    this.frames = chosen === this.at && this.frames < RETRY_FRAMES ? this.frames + 1 : 0;
    this.at = chosen;
    return this.choices[chosen]!;
  }

  /** Tells how a frame of the newest choice went. */
  observe(steps: number, ms: number): void {
    const known = this.stepMs[this.at];
    this.stepMs[this.at] = known === undefined ? ms / steps : known + NEWEST * (ms / steps - known);
  }
}
