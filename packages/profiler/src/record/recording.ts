import type { RunTimes } from "@vd/kernels-native";
import type { LoadedPlan } from "@vd/tensor";

/** One run of a plan: what it was and what its rows took. */
export interface PlanRun {
  plan: LoadedPlan;
  times: RunTimes;
}

/** One scope, from its opening to its end. Times are µs since the recording began. */
export interface Span {
  readonly name: string;
  readonly parent: Span | undefined;
  readonly startUs: number;
  /** Undefined while the scope is open. */
  endUs: number | undefined;
  /** The message of what was thrown out of it. */
  error?: string | undefined;
  /** Set for the scope of a plan's run. */
  run?: PlanRun | undefined;
}

/** A scope opens or ends. */
export interface Edge {
  span: Span;
  atUs: number;
  isStart: boolean;
}

/** Planned and packed memory of the loaded plans from one moment on. */
export interface MemorySample {
  atUs: number;
  bytes: number;
}

/** Everything that was recorded; edges and samples stand in the order of time. */
export interface Recording {
  edges: readonly Edge[];
  memory: readonly MemorySample[];
}
