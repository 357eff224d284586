import type { AdaptiveOptions, DeadlinePolicy } from "./types";

/** Weight of the newest frame in the running mean. */
const NEWEST = 0.2;
/** Frames without a miss before more steps are tried again. */
const CALM_FRAMES = 30;
/** The part of the deadline that more steps may take, by default. */
const HEADROOM = 0.8;
/** Mean change between frames, in units of pixels in [-1, 1], below which one step is enough, by default. */
const QUIET_CHANGE = 0.01;

/** What the choice depends on. */
export interface StepSettings {
  /** What the caller asked for. */
  steps: number;
  deadlineMs: number;
  policy: DeadlinePolicy;
}

/** Chooses the number of steps frame by frame: fewer after a missed deadline, and, if it is adaptive, as many as fit and the picture needs. */
export class StepController {
  /** Running mean of the time of a step, in milliseconds. */
  private stepMs: number | undefined;
  private calm = 0;
  /** The place of the current choice among those that are allowed; undefined until a frame was late. */
  private lowered: number | undefined;
  private change = Number.POSITIVE_INFINITY;

  /** choices: numbers of steps that the model has, ascending. */
  constructor(
    private readonly choices: readonly number[],
    private readonly adaptive?: AdaptiveOptions | undefined,
  ) {}

  /** The numbers of steps that may be chosen, ascending. */
  allowed({ steps, policy }: Pick<StepSettings, "steps" | "policy">): number[] {
    if (this.adaptive) return this.choices.filter((choice) => choice <= (this.adaptive?.maxSteps ?? steps));
    return policy === "fewer-steps" ? this.choices.filter((choice) => choice <= steps) : [steps];
  }

  /** The number of steps of the next frame. */
  next(settings: StepSettings): number {
    const allowed = this.allowed(settings);
    const last = allowed.length - 1;
    if (this.adaptive) return allowed[this.adapted(allowed, settings)]!;
    if (settings.policy !== "fewer-steps" || this.lowered === undefined) return allowed[last]!;
    if (this.calm >= CALM_FRAMES && this.fits(allowed[this.lowered + 1], settings, HEADROOM)) {
      this.calm = 0;
      this.lowered++;
    }
    if (this.lowered >= last) this.lowered = undefined;
    return allowed[Math.min(this.lowered ?? last, last)]!;
  }

  /** Tells how a frame went. change: mean change against the frame before. */
  observe(steps: number, ms: number, late: boolean, settings: StepSettings, change?: number): void {
    const newest = ms / steps;
    this.stepMs = this.stepMs === undefined ? newest : this.stepMs + NEWEST * (newest - this.stepMs);
    this.calm = late ? 0 : this.calm + 1;
    if (change !== undefined) this.change = change;
    if (late && settings.policy === "fewer-steps" && !this.adaptive)
      this.lowered = Math.max(0, this.allowed(settings).indexOf(steps) - 1);
  }

  /** The most steps that fit the deadline; the fewest while nothing moves. */
  private adapted(allowed: readonly number[], settings: StepSettings): number {
    const { headroom = HEADROOM, quietChange = QUIET_CHANGE } = this.adaptive!;
    if (this.change < quietChange) return 0;
    const fitting = allowed.findLastIndex((steps) => this.fits(steps, settings, headroom));
    return Math.max(0, fitting);
  }

  /** Whether so many steps are expected to fit. */
  private fits(steps: number | undefined, { deadlineMs }: StepSettings, headroom: number): boolean {
    return steps !== undefined && (this.stepMs ?? 0) * steps <= headroom * deadlineMs;
  }
}
