import { DEVICE_KINDS, type Device, OBJECT, oneOfThese, requireFields, TEXT, VdError } from "@vd/kernels-native";
import { type Pausable, pausable, runInSlices } from "../pausable";
import type { GraphLayout } from "../plan/layout";
import type { Row } from "../row";
import { defaultTuningTable } from "./defaults";
import { rowKey } from "./row-key";
import type { TuningEntry, TuningTable } from "./table";

/** Which table decides the variants of a plan: a given one, none at all (false), or the one that comes with the package
 *  for the device (undefined). */
export type Tuning = TuningTable | false | undefined;

/**
 * The table for plans on `device`; undefined where the device's own choice stands, as it does on the CPU.
 *
 * @throws VdError `unsupported` for a table of another device
 */
export function tuningTableFor(device: Pick<Device, "kind" | "name">, tuning: Tuning): TuningTable | undefined {
  requireFields("tuningTableFor", device, { kind: oneOfThese(DEVICE_KINDS), name: TEXT });
  const { kind, name } = device;
  if (kind === "cpu" || tuning === false) return undefined;
  if (tuning === undefined) return defaultTuningTable(name);
  requireFields("tuning", tuning, { device: TEXT, entries: OBJECT });
  if (tuning.device === name) return tuning;
  throw new VdError({
    code: "unsupported",
    where: "tuning",
    expected: `a table of ${name}`,
    got: `one of ${tuning.device}`,
    hint: "Make one on this device with the program tune of the GPU pack, or leave the option out.",
  });
}

/** Rows whose keys are made between two pauses. */
const PIECE = 32;

type Entries = TuningTable["entries"];

/** The row without its optional results. */
const withFirstResult = (row: Row): Row => ({ ...row, outputs: row.outputs.slice(0, 1) });

/** What rows are to have by a table, each list with an empty text where the table says nothing. */
export interface TunedRows {
  variants: string[];
  /** The device's own choices that these were faster than. Where it makes another one by now, of kernels or a planner that came since, the
   *  table knows nothing of it. */
  insteadOf: string[];
}

const NOTHING = { variant: "", timesUs: {} };

/** What suits a row suits it with further results too, unless the table says otherwise. */
function entryOf(row: Row, entries: Entries): TuningEntry {
  const rows = row.outputs.some((each, i) => i > 0 && each) ? [row, withFirstResult(row)] : [row];
  const key = rows.map(rowKey).find((each) => Object.hasOwn(entries, each));
  return key === undefined ? NOTHING : entries[key]!;
}

/** Returns the variant of every row by a table. Pauses after some rows. */
export const chooseVariants = pausable(function* (
  { graph }: Pick<GraphLayout, "graph">,
  { entries }: Pick<TuningTable, "entries">,
): Pausable<TunedRows> {
  const rows: TunedRows = { variants: [], insteadOf: [] };
  for (const row of graph.rows) {
    const { variant, timesUs } = entryOf(row, entries);
    rows.insteadOf.push(Object.keys(timesUs)[0] ?? "");
    if (rows.variants.push(variant) % PIECE === 0) yield;
  }
  return rows;
});

/** What a table said of a layout that was loaded last: a generation loads the same few as the one before. */
const knownChoices = new WeakMap<object, { entries: Entries; rows: TunedRows }>();

/**
 * What a plan's rows are to have on a device; undefined where all are the device's own choice. The event loop turns
 * meanwhile.
 *
 * @throws VdError as {@link tuningTableFor}
 */
export async function tunedVariants(
  device: Pick<Device, "kind" | "name">,
  layout: Pick<GraphLayout, "graph">,
  tuning: Tuning,
): Promise<TunedRows | undefined> {
  const entries = tuningTableFor(device, tuning)?.entries;
  if (!entries || Object.keys(entries).length === 0) return undefined;
  const known = knownChoices.get(layout);
  if (known?.entries === entries) return known.rows;
  const rows = await runInSlices(chooseVariants.inPieces(layout, { entries }));
  knownChoices.set(layout, { entries, rows });
  return rows;
}
