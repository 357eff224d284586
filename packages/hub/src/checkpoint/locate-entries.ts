import {
  FUNCTION,
  having,
  listOf,
  optional,
  requireArgument,
  requireFields,
  type WantedFields,
} from "@vd/kernels-native";
import { ENTRIES, type TensorEntry } from "./tensor-source";

/** Tensors of a file by their names relative to a network. */
export type RelativeEntries = ReadonlyMap<string, TensorEntry>;

/** Where the networks of a single-file checkpoint lie in it. */
export interface CheckpointParts<Part extends string> {
  /** What tensors of a part begin with; the first prefix that fits counts. Parts may have several. */
  prefixes: readonly (readonly [prefix: RegExp, part: Part])[];
  /** Tensors that such files hold and nobody reads. */
  unused: readonly RegExp[];
  /** Today's form of a relative name; default: the name. */
  currentName?(name: string): string;
}

const PARTS: WantedFields = {
  prefixes: listOf(having("a pair [prefix, part]", [0, 1])),
  unused: listOf(having("a regular expression", ["test"])),
  currentName: optional(FUNCTION),
};

/** The tensors of a single-file checkpoint, sorted by part. */
export interface LocatedEntries<Part extends string> {
  parts: ReadonlyMap<Part, RelativeEntries>;
  /** Names that belong to no part. */
  unknown: string[];
}

/** Sorts the tensors of a single-file checkpoint by the part that their prefixes name. Every part has an entry.
 *  @throws VdError `attr` for what are no tensors and no parts */
export function locateEntries<Part extends string>(
  entries: Iterable<TensorEntry>,
  checkpoint: CheckpointParts<Part>,
): LocatedEntries<Part> {
  requireArgument("locateEntries entries", entries, ENTRIES);
  requireFields("locateEntries checkpoint", checkpoint, PARTS);
  const { prefixes, unused, currentName = (name) => name } = checkpoint;
  const parts = new Map<Part, Map<string, TensorEntry>>(prefixes.map(([, part]) => [part, new Map()]));
  const unknown: string[] = [];
  for (const entry of entries) {
    const found = prefixes.map(([prefix, part]) => ({ part, text: prefix.exec(entry.name)?.[0] }));
    const match = found.find(({ text }) => text !== undefined);
    if (match?.text !== undefined) parts.get(match.part)!.set(currentName(entry.name.slice(match.text.length)), entry);
    else if (!unused.some((pattern) => pattern.test(entry.name))) unknown.push(entry.name);
  }
  return { parts, unknown };
}
