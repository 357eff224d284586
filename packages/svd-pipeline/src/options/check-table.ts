import { VdError } from "@vd/kernels-native";
import { nearestNames } from "@vd/tensor";
import { checkValue, faultOf, requireNoFault, shown } from "./check-value";
import type { OptionTable } from "./option";

/** What decides defaults and ranges beside the table. */
export interface TableContext {
  /** Defaults of the model, by option. */
  defaults?: Readonly<Record<string, unknown>>;
  /** By how much the autoencoder shrinks a side. */
  factor?: number;
}

/**
 * Checks the options that a program gave against a table and fills in the defaults. `where`: who complains about names.
 * Returns the values of all options that can be written, undefined where there is neither value nor default.
 *
 * @throws VdError `attr` naming the option
 */
export function checkTable(
  where: string,
  table: OptionTable,
  options: unknown,
  { defaults = {}, factor }: TableContext = {},
): Record<string, unknown> {
  const given = requireKnownNames(where, table, options);
  const checked: Record<string, unknown> = {};
  for (const [name, { kind, default: fallback }] of Object.entries(table)) {
    const value = given[name];
    if (kind.kind === "object") {
      if (value !== undefined) requireNoFault(faultOf(kind, value), name, value);
      continue;
    }
    const settled = value !== undefined ? value : (defaults[name] ?? defaultValue(fallback, checked.device));
    checked[name] = settled === undefined ? undefined : checkValue(kind, name, settled, factor);
  }
  return checked;
}

function defaultValue(fallback: OptionTable[string]["default"], device: unknown): unknown {
  if (fallback?.kind === "always") return fallback.value;
  return fallback?.kind === "device" ? fallback[device === "cuda" ? "cuda" : "cpu"] : undefined;
}

function requireKnownNames(where: string, table: OptionTable, options: unknown): Record<string, unknown> {
  if (typeof options !== "object" || options === null)
    throw new VdError({ code: "attr", where, expected: "an object of options", got: shown(options) });
  const known = Object.keys(table);
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(table, name)) continue;
    const hint = `The nearest name is ${nearestNames(name, known, 1)}.`;
    throw new VdError({ code: "attr", where, expected: `options out of ${known.join(", ")}`, got: shown(name), hint });
  }
  return options as Record<string, unknown>;
}
