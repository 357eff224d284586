import type { FeatureCacheOptions } from "./types";

const MAX_CHANGE = 0.04;
const MAX_AGE = 2;

/** Decides which frames take the deep features of an earlier one. */
export class FeatureCache {
  private readonly maxChange: number;
  private readonly maxAge: number;
  /** Frames made since the features were computed; infinite before the first. */
  private age = Number.POSITIVE_INFINITY;
  private change = Number.POSITIVE_INFINITY;
  private made = { steps: 0, action: -1 };

  constructor({ maxChange = MAX_CHANGE, maxAge = MAX_AGE }: FeatureCacheOptions = {}) {
    this.maxChange = maxChange;
    this.maxAge = maxAge;
  }

  /** Whether the next frame computes its features. Other steps and another action always do: they are told to the network by features. */
  next(steps: number, action: number): "compute" | "reuse" {
    const isSame = steps === this.made.steps && action === this.made.action;
    return isSame && this.age < this.maxAge && this.change <= this.maxChange ? "reuse" : "compute";
  }

  /** Tells what a frame was made with. change: mean change of the picture since the features were computed. */
  observe(mode: "compute" | "reuse", steps: number, action: number, change: number): void {
    if (mode === "compute") this.made = { steps, action };
    this.age = mode === "compute" ? 1 : this.age + 1;
    this.change = change;
  }

  /** Forgets the features. */
  clear(): void {
    this.age = Number.POSITIVE_INFINITY;
  }
}
