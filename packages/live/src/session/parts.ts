import type { LiveModelInfo } from "../model/types";
import type { SessionClock } from "./clock";
import type { FrameMaker, GuardAmounts } from "./frame-maker";
import { guardRows } from "./guard";
import type { SimilarityFilter } from "./similarity-filter";
import { StepController, type StepSettings } from "./step-controller";
import type { AdaptiveOptions, FeatureCacheOptions, LivePace, LivePicture } from "./types";

/** What changes by `set`. */
export interface SessionSettings extends StepSettings {
  blend: number;
  guard: GuardAmounts;
}

/** What a session runs on. */
export interface SessionParts {
  info: LiveModelInfo;
  engine: FrameMaker;
  /** A start state's context. */
  startContext(start?: string | readonly LivePicture[]): Promise<Float32Array>;
  clock: SessionClock;
  size: { width: number; height: number };
  fps: number;
  pace: LivePace;
  queueFrames: number;
  settings: SessionSettings;
  cache: FeatureCacheOptions | undefined;
  adaptive: AdaptiveOptions | undefined;
  /** Leaves out frames whose pictures hardly differ; undefined: none. */
  similarity: SimilarityFilter | undefined;
  driftEvery: number;
  timeEvery: number;
  signal: AbortSignal | undefined;
}

/** Loads what frames with these settings may need. */
export async function preparePrograms(
  { info, engine, driftEvery, cache, adaptive }: SessionParts,
  settings: SessionSettings,
): Promise<void> {
  const modes = cache ? (["compute", "reuse"] as const) : (["none"] as const);
  const drifts = driftEvery === 0 ? [false] : driftEvery === 1 ? [true] : [false, true];
  const controller = new StepController([...info.sigmas.keys()], adaptive);
  const guard = guardRows(settings.guard);
  for (const steps of controller.allowed(settings))
    for (const precision of adaptive?.precisions ?? [undefined])
      for (const deep of modes)
        for (const drift of drifts) await engine.prepare({ steps, deep, drift, precision, guard });
}

/** The properties of an object that have a value. */
export function definedOnly<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
