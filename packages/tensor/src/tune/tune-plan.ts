import {
  COUNT,
  type Device,
  FLAG,
  FUNCTION,
  OBJECT,
  optional,
  requireFields,
  SIGNAL,
  throwIfAborted,
} from "@vd/kernels-native";
import { withCallbacks } from "../callbacks";
import { requireDevice } from "../devices/require-device";
import { GRAPH } from "../graph";
import type { GraphLayout } from "../plan/layout";
import { Plan } from "../plan/plan";
import { rowKey } from "./row-key";
import type { TuningEntry } from "./table";
import { interchangeable, Trial } from "./trial";

/** A pass of {@link tunePlan}: all rows that are still searched run one variant each. */
export interface TuningProgress {
  /** From 1. */
  pass: number;
  /** Keys whose variant is measured in this pass. */
  numRows: number;
}

/** How a plan is tuned. */
export interface TuneOptions {
  /** Runs of each variant; default 3. */
  repeats?: number | undefined;
  /** What is known already: rows with these keys are not measured. */
  known?: Readonly<Record<string, TuningEntry>> | undefined;
  /** Fills inputs before the first run of every pass; by default they are zeros. */
  fill?: ((plan: Plan) => void) | undefined;
  /** For plans that are loaded so; default false. */
  batchInvariant?: boolean | undefined;
  /** Stops before the next row; tunePlan then throws VdError `cancelled`. */
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: TuningProgress) => void) | undefined;
}

const OPTIONS = {
  ...{ repeats: optional(COUNT), known: optional(OBJECT), batchInvariant: optional(FLAG) },
  ...{ fill: optional(FUNCTION), onProgress: optional(FUNCTION), signal: optional(SIGNAL) },
};

const DEFAULT_REPEATS = 3;

/** A key's rows, by their places in the plan, and the search for what runs them best. */
interface KeyTrial {
  key: string;
  places: readonly number[];
  trial: Trial;
}

/** The keys of a plan that are not known yet and have more than one variant to choose from. */
async function trialsOf(
  device: Device,
  layout: GraphLayout,
  { known, batchInvariant }: Pick<TuneOptions, "known" | "batchInvariant">,
): Promise<KeyTrial[]> {
  const places = new Map<string, number[]>();
  for (const [place, row] of layout.graph.rows.entries()) {
    const key = rowKey(row);
    if (!Object.hasOwn(known ?? {}, key)) places.set(key, [...(places.get(key) ?? []), place]);
  }
  if (places.size === 0) return [];
  const plan = await Plan.load(device, layout, { tuning: false, batchInvariant });
  const { candidates } = plan;
  plan.freeSync();
  return [...places].flatMap(([key, found]) => {
    const [first] = found as [number];
    const names = interchangeable(candidates[first]!, layout.graph.rows[first]!.op);
    return names.length > 1 ? [{ key, places: found, trial: new Trial(names) }] : [];
  });
}

/** Mean times of each key's rows with the variant that goes with it, one for each run. The whole plan runs, so that rows
 *  compute with what the rows before them made (zeros are faster) on a device as warm as it will be. */
async function measureKeys(
  device: Device,
  layout: GraphLayout,
  { trials, variants }: { trials: readonly KeyTrial[]; variants: readonly string[] },
  { repeats = DEFAULT_REPEATS, batchInvariant, fill, signal }: TuneOptions,
): Promise<number[][]> {
  const all = layout.graph.rows.map(() => "");
  for (const [i, { places }] of trials.entries()) for (const place of places) all[place] = variants[i]!;
  const plan = await Plan.load(device, layout, { variants: all, batchInvariant });
  try {
    fill?.(plan);
    const timesUs: number[][] = trials.map(() => []);
    for (let i = 0; i < repeats; i++) {
      const { rowUs } = await plan.run({ timing: true, signal });
      for (const [t, { places }] of trials.entries())
        timesUs[t]!.push(places.reduce((sum, place) => sum + rowUs[place]!, 0) / places.length);
    }
    return timesUs;
  } finally {
    plan.freeSync();
  }
}

/**
 * Measures the kernel variants of a plan's rows on a device, key by key, and says which to run: the fastest where it
 * beats the device's own choice by more than the noise, and by 3 % at least. Only variants that compute the same bits
 * compete. The results are of use in a {@link TuningTable}; rows without a choice have no entry.
 *
 * @throws VdError `memory`, `cancelled`, or what the device refuses
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { layoutGraph, tunePlan } from "@vd/tensor";
 *
 * const layout = layoutGraph((g) => {
 *   const x = g.input("x", [1, 1, 256, 64]);
 *   const weight = g.constant(new Float32Array(64 * 64), [64, 64]);
 *   g.output("y", g.linear({ x, weight }));
 * });
 * const entries = await tunePlan(openDevice("cuda"), layout);
 * console.log(Object.keys(entries));
 * ```
 */
export async function tunePlan(
  device: Device,
  layout: GraphLayout,
  options: TuneOptions = {},
): Promise<Record<string, TuningEntry>> {
  requireDevice("tunePlan", device);
  requireFields("tunePlan layout", layout, { graph: GRAPH, byteOffsets: OBJECT });
  requireFields("tunePlan", options, OPTIONS);
  return withCallbacks(options, ["onProgress"], "tuning", (watched) => tuneKeys(device, layout, watched));
}

async function tuneKeys(
  device: Device,
  layout: GraphLayout,
  options: TuneOptions,
): Promise<Record<string, TuningEntry>> {
  throwIfAborted(options.signal, "tuning");
  const trials = await trialsOf(device, layout, options);
  let pass = 0;
  const measure = async (some: readonly KeyTrial[], variants: readonly string[]) => {
    options.onProgress?.({ pass: ++pass, numRows: some.length });
    return measureKeys(device, layout, { trials: some, variants }, options);
  };
  for (let open = trials; open.length > 0; open = open.filter(({ trial }) => trial.wanted !== undefined)) {
    const variants = open.map(({ trial }) => trial.wanted!);
    for (const [i, timesUs] of (await measure(open, variants)).entries()) open[i]!.trial.measured(timesUs);
  }
  if (trials.length > 0) {
    const again = await measure(
      trials,
      trials.map(() => ""),
    );
    for (const [i, timesUs] of again.entries()) trials[i]!.trial.measuredAgain(timesUs);
  }
  return Object.fromEntries(trials.map(({ key, trial }) => [key, trial.entry()]));
}
