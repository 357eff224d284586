import {
  type Device,
  FUNCTION,
  having,
  optional,
  type ProgramInfo,
  type RunTimes,
  requireArgument,
} from "@vd/kernels-native";
import type { GraphLayout } from "./layout";

/** A plan on a device, as its observer sees it. */
export interface LoadedPlan {
  /** What its user calls it, e.g. `decode`. */
  name: string;
  layout: GraphLayout;
  device: Device;
  info: ProgramInfo;
}

/** Watches a piece of work: its named parts, and the plans that it loads, runs and frees. Profilers implement it; no
 *  layer below knows one. */
export interface WorkObserver {
  /** Runs `body` as the part `name` of the part that is running; returns and throws what it does, and lasts as long as
   *  its promise if it returns one. */
  scope<T>(name: string, body: () => T): T;
  planLoaded(plan: LoadedPlan): void;
  /** A run has ended well; called in the scope of the run. times: with `rowUs`, one figure per row. */
  planRan(plan: LoadedPlan, times: RunTimes): void;
  planFreed(plan: LoadedPlan): void;
}

const OBSERVER = optional(having("an observer", ["scope"]));

/** Runs `body` as the part `name` of the work that `observer` watches; without an observer it just runs. */
export function observed<T>(observer: WorkObserver | undefined, name: string, body: () => T): T {
  requireArgument("observed observer", observer, OBSERVER);
  requireArgument("observed body", body, FUNCTION);
  return observer ? observer.scope(name, body) : body();
}
