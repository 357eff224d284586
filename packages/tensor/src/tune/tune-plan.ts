import type { Device } from "@vd/kernels-native";
import type { Graph } from "../graph";
import { cancelledError, Plan, type PlanLayout } from "../plan/plan";
import type { Row } from "../row";
import { rowKey } from "./row-key";
import type { TuningEntry } from "./table";
import { interchangeable, Trial } from "./trial";

/** A pass of {@link tunePlan}: all rows that are still searched run one variant each. */
export interface TuningProgress {
  /** From 1. */
  pass: number;
  /** Rows whose variant is measured in this pass. */
  numRows: number;
}

/** How a plan is tuned. */
export interface TuneOptions {
  /** Runs of each variant; default 3. */
  repeats?: number | undefined;
  /** What is known already: rows with these keys are not measured. */
  known?: Readonly<Record<string, TuningEntry>> | undefined;
  /** Fills inputs before the first run of every pass, so that the kernels compute with something; by default they are
   *  zeros. */
  fill?: ((plan: Plan) => void) | undefined;
  /** Stops before the next row; tunePlan then throws VdError `cancelled`. */
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: TuningProgress) => void) | undefined;
}

const DEFAULT_REPEATS = 3;

/** The layout with some of its rows only; every block stays where it was. */
function withRows(layout: PlanLayout, rows: readonly Row[]): PlanLayout {
  const graph = Object.assign(Object.create(Object.getPrototypeOf(layout.graph)), layout.graph, { rows }) as Graph;
  return { ...layout, graph };
}

/** The first row of each key that is not known yet. */
function newRows(layout: PlanLayout, known: Readonly<Record<string, unknown>>): Row[] {
  const first = new Map<string, Row>();
  for (const row of layout.graph.rows) {
    const key = rowKey(row);
    if (!Object.hasOwn(known, key) && !first.has(key)) first.set(key, row);
  }
  return [...first.values()];
}

/** A row that stands for all of its key. */
interface RowTrial {
  row: Row;
  trial: Trial;
}

/** Rows with more than one variant to choose from. */
async function trialsOf(device: Device, layout: PlanLayout, rows: readonly Row[]): Promise<RowTrial[]> {
  const plan = await Plan.load(device, withRows(layout, rows), { tuning: false });
  const { candidates } = plan;
  plan.free();
  return rows.flatMap((row, i) => {
    const names = interchangeable(candidates[i]!);
    return names.length > 1 ? [{ row, trial: new Trial(names) }] : [];
  });
}

/** Times of each row with the variant that goes with it, one list per row. */
async function measureRows(
  device: Device,
  layout: PlanLayout,
  { rows, variants }: { rows: readonly Row[]; variants: readonly string[] },
  { repeats = DEFAULT_REPEATS, fill, signal }: TuneOptions,
): Promise<number[][]> {
  const plan = await Plan.load(device, withRows(layout, rows), { variants });
  try {
    fill?.(plan);
    const timesUs: number[][] = rows.map(() => []);
    for (let i = 0; i < repeats; i++) {
      const { rowUs } = await plan.run({ timing: true, signal });
      for (const [row, timeUs] of rowUs.entries()) timesUs[row]!.push(timeUs);
    }
    return timesUs;
  } finally {
    plan.free();
  }
}

/** Measures the kernel variants of a plan's rows on a device, one row for each key, and says which to run: the fastest
 *  where it beats the device's own choice by more than the noise, and by 3 % at least. Only variants that compute the
 *  same bits compete. The results are of use in a {@link TuningTable}; rows without a choice have no entry.
 *  Throws VdError `memory`, `cancelled`, or what the device refuses. */
export async function tunePlan(
  device: Device,
  layout: PlanLayout,
  options: TuneOptions = {},
): Promise<Record<string, TuningEntry>> {
  if (options.signal?.aborted) throw cancelledError();
  const rows = newRows(layout, options.known ?? {});
  const trials = rows.length > 0 ? await trialsOf(device, layout, rows) : [];
  let pass = 0;
  const measure = async (some: readonly RowTrial[], variants: readonly string[]) => {
    options.onProgress?.({ pass: ++pass, numRows: some.length });
    return measureRows(device, layout, { rows: some.map(({ row }) => row), variants }, options);
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
  return Object.fromEntries(trials.map(({ row, trial }) => [rowKey(row), trial.entry()]));
}
