import { setImmediate } from "node:timers/promises";
import { type Device, VdError } from "@vd/kernels-native";
import type { PlanLayout } from "../plan/plan";
import type { Row } from "../row";
import { defaultTuningTable } from "./defaults";
import { rowKey } from "./row-key";
import type { TuningTable } from "./table";

/** Which table decides the variants of a plan: a given one, none at all (false), or the one that comes with the package
 *  for the device (undefined). */
export type Tuning = TuningTable | false | undefined;

/** The table for plans on `device`; undefined where the device's own choice stands, as it does on the CPU. Throws VdError
 *  `unsupported` for a table of another device. */
export function tuningTableFor({ kind, name }: Pick<Device, "kind" | "name">, tuning: Tuning): TuningTable | undefined {
  if (kind === "cpu" || tuning === false) return undefined;
  if (tuning === undefined) return defaultTuningTable(name);
  if (tuning.device === name) return tuning;
  throw new VdError({
    code: "unsupported",
    where: "tuning",
    expected: `a table of ${name}`,
    got: `one of ${tuning.device}`,
    hint: "Make one on this device with the program tune of the GPU pack, or leave the option out.",
  });
}

/** Rows whose keys are made at a time: about a millisecond. */
const ROWS_AT_ONCE = 128;

type Entries = TuningTable["entries"];

function variantOf(row: Row, entries: Entries): string {
  const key = rowKey(row);
  return Object.hasOwn(entries, key) ? entries[key]!.variant : "";
}

/** The variant of every row by a table; an empty text where it says nothing. */
export function chooseVariants(
  { graph }: Pick<PlanLayout, "graph">,
  { entries }: Pick<TuningTable, "entries">,
): string[] {
  return graph.rows.map((row) => variantOf(row, entries));
}

/** The variants of a plan's rows on a device; undefined where all are the device's own choice. The event loop turns
 *  after some rows. Throws VdError as {@link tuningTableFor}. */
export async function tunedVariants(
  device: Pick<Device, "kind" | "name">,
  { graph: { rows } }: Pick<PlanLayout, "graph">,
  tuning: Tuning,
): Promise<string[] | undefined> {
  const entries = tuningTableFor(device, tuning)?.entries ?? {};
  if (Object.keys(entries).length === 0) return undefined;
  const variants: string[] = [];
  while (variants.length < rows.length) {
    const some = rows.slice(variants.length, variants.length + ROWS_AT_ONCE);
    variants.push(...some.map((row) => variantOf(row, entries)));
    await setImmediate();
  }
  return variants;
}
