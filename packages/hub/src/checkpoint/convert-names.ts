import { having, listOf, requireArgument, requireFields, TEXT, VdError, type WantedFields } from "@vd/kernels-native";
import type { RelativeEntries } from "./locate-entries";
import { type NamePair, PAIRS } from "./name-pair";
import { ENTRIES, type ExportSource, type StoredSource, type TensorEntry } from "./tensor-source";

const RELATIVE = having("a Map of tensors", ["get", Symbol.iterator]);
const LIST = listOf(TEXT);
const FAULTS: WantedFields = { missing: LIST, unknown: LIST };

/** Names that a conversion looked for and did not find, or found and does not know. */
export interface NameFaults {
  missing: string[];
  unknown: string[];
}

/**
 * Finds the source of every tensor of a network in the folder layout; no data is read. pairs: the network's names;
 * relative: what the file has of it. Missing names are relative ones, unknown names those of the file.
 * @throws VdError `weights` for a tensor whose shape does not fit its pair, `attr` for what are no pairs and no tensors.
 */
export function sourcesOfPairs(
  pairs: readonly NamePair[],
  relative: RelativeEntries,
): { sources: Map<string, StoredSource> } & NameFaults {
  requireArgument("sourcesOfPairs pairs", pairs, PAIRS);
  requireArgument("sourcesOfPairs relative", relative, RELATIVE);
  const sources = new Map<string, StoredSource>();
  const missing: string[] = [];
  for (const pair of pairs) {
    const entry = relative.get(pair.original);
    if (entry !== undefined) sources.set(pair.diffusers, sourceOfPair(pair, entry));
    else if (!pair.optional) missing.push(pair.original);
  }
  const known = new Set(pairs.map(({ original }) => original));
  const unknown = [...relative].filter(([name]) => !known.has(name)).map(([, { name }]) => name);
  return { sources, missing, unknown };
}

function sourceOfPair(pair: NamePair, { name, dtype, shape }: TensorEntry): StoredSource {
  const [first = 0, second = 0, ...rest] = shape;
  if (pair.part !== undefined) {
    const { index, count } = pair.part;
    if (first % count !== 0) throw shapeError(name, `${count} equal parts along the first dimension`, shape);
    const length = first / count;
    const cut = [length, ...shape.slice(1)];
    return { name, rows: [index * length, (index + 1) * length], dtype, shape: cut };
  }
  if (pair.transpose) {
    if (shape.length !== 2) throw shapeError(name, "two dimensions", shape);
    return { name, transpose: true, dtype, shape: [second, first] };
  }
  if (pair.convolution !== undefined && shape.length > 2) {
    if (rest.some((size) => size !== 1)) throw shapeError(name, "a 1×1 convolution", shape);
    return { name, reshape: [first, second], dtype, shape: [first, second] };
  }
  return { name, dtype, shape: [...shape] };
}

/**
 * Finds the source of every tensor of a network in the original names; no data is read. pairs: the network's names;
 * entries: its tensors in the folder layout. Missing and unknown names are those of the folder layout.
 * @throws VdError `weights` for a tensor whose shape does not fit its pair, `attr` for what are no pairs and no tensors.
 */
export function exportsOfPairs<Component extends string>(
  component: Component,
  pairs: readonly NamePair[],
  entries: Iterable<TensorEntry>,
): { exports: Map<string, ExportSource<Component>> } & NameFaults {
  requireArgument("exportsOfPairs component", component, TEXT);
  requireArgument("exportsOfPairs pairs", pairs, PAIRS);
  requireArgument("exportsOfPairs entries", entries, ENTRIES);
  const byName = new Map([...entries].map((entry) => [entry.name, entry]));
  const exports = new Map<string, ExportSource<Component>>();
  const missing: string[] = [];
  for (const pair of pairs) {
    const entry = byName.get(pair.diffusers);
    if (entry !== undefined) addExport(exports, component, pair, entry);
    else if (!pair.optional) missing.push(pair.diffusers);
  }
  const known = new Set(pairs.map(({ diffusers }) => diffusers));
  return { exports, missing, unknown: [...byName.keys()].filter((name) => !known.has(name)) };
}

function addExport<Component extends string>(
  exports: Map<string, ExportSource<Component>>,
  component: Component,
  pair: NamePair,
  { name, dtype, shape }: TensorEntry,
): void {
  const { original } = pair;
  const [first = 0, second = 0] = shape;
  if (pair.part !== undefined) {
    const others = exports.get(original);
    if (others === undefined) exports.set(original, { component, names: [name], dtype, shape: [...shape] });
    else {
      const fits = others.dtype === dtype && String(others.shape.slice(1)) === String(shape.slice(1));
      if (!fits) throw shapeError(name, `the type and width of ${others.names[0]}`, shape);
      others.names.push(name);
      others.shape[0] = (others.shape[0] ?? 0) + first;
    }
  } else if (pair.transpose) {
    if (shape.length !== 2) throw shapeError(name, "two dimensions", shape);
    exports.set(original, { component, names: [name], transpose: true, dtype, shape: [second, first] });
  } else if (pair.convolution === "always" && shape.length === 2) {
    const reshape = [first, second, 1, 1];
    exports.set(original, { component, names: [name], reshape, dtype, shape: reshape });
  } else exports.set(original, { component, names: [name], dtype, shape: [...shape] });
}

/**
 * Makes sure that no name is missing or unknown. expected: what the file was taken for; hint: why it may not be that.
 * @throws VdError `weights` with the first of the names, `attr` for what are no lists of names.
 */
export function requireAllNames(faults: NameFaults, expected: string, hint: string): void {
  requireFields("requireAllNames", faults, FAULTS);
  const { missing, unknown } = faults;
  if (missing.length === 0 && unknown.length === 0) return;
  const parts = [
    missing.length > 0 ? `${missing.length} missing tensors: ${firstOf(missing)}` : "",
    unknown.length > 0 ? `${unknown.length} unknown tensors: ${firstOf(unknown)}` : "",
  ];
  const got = parts.filter((part) => part !== "").join("; ");
  throw new VdError({ code: "weights", where: missing[0] ?? unknown[0] ?? "", expected, got, hint });
}

/** The first three of many names, for a message. @throws VdError `attr` for what is no list of names */
export function firstOf(names: readonly string[]): string {
  requireArgument("firstOf", names, LIST);
  return names.slice(0, 3).join(", ") + (names.length > 3 ? ", …" : "");
}

function shapeError(name: string, expected: string, shape: readonly number[]): VdError {
  return new VdError({ code: "weights", where: name, expected, got: `[${shape.join(", ")}]` });
}
