import { having, listOf, OBJECT, optional, requireArgument, TEXT, type Wanted } from "@vd/kernels-native";

/** What a set of names must be. */
export const NAMES: Wanted = having("a Set of names", ["has", Symbol.iterator]);

/** What {@link NamePair}s must be. */
export const PAIRS: Wanted = listOf(having("a pair { original, diffusers }", ["original", "diffusers"]));

const LAYER_PAIRS: Wanted = listOf(listOf(TEXT, 2));
const MORE = optional(OBJECT);

/** Refuses what are no prefixes of names on both sides. @throws VdError `attr` */
export function requirePrefixes(where: string, original: unknown, diffusers: unknown): void {
  requireArgument(`${where} original`, original, TEXT);
  requireArgument(`${where} diffusers`, diffusers, TEXT);
}

/** One tensor in both ways of naming; names are relative to the network. */
export interface NamePair {
  /** In the single-file checkpoint. */
  original: string;
  /** In the folder layout. */
  diffusers: string;
  /** The original is several tensors in one, along dimension 0; this is the part. */
  part?: { index: number; count: number };
  /** The original is the transposed matrix. */
  transpose?: true;
  /** The original is a 1×1 convolution of this many dimensions where the other one is a matrix. */
  convolution?: "always" | "perhaps";
  /** The layer exists only where the number of channels changes. */
  optional?: true;
}

/** Names of a layer on both sides, e.g. `in_layers.2` and `conv1`. */
export type LayerPair = readonly [original: string, diffusers: string];

/** The pairs for weight and bias of layers below two prefixes (without a final dot). @throws VdError `attr` for what are no
 *  prefixes and no layers */
export function layerPairs(
  original: string,
  diffusers: string,
  layers: readonly LayerPair[],
  more: Omit<NamePair, "original" | "diffusers"> = {},
): NamePair[] {
  requirePrefixes("layerPairs", original, diffusers);
  requireArgument("layerPairs layers", layers, LAYER_PAIRS);
  requireArgument("layerPairs more", more, MORE);
  return layers.flatMap(([from, to]) =>
    ["weight", "bias"].map((parameter) => ({
      original: `${joined(original, from)}.${parameter}`,
      diffusers: `${joined(diffusers, to)}.${parameter}`,
      ...more,
    })),
  );
}

/** More than any list of blocks has; names beyond it count as unknown, so that a made-up index cannot cause endless work. */
const MAX_BLOCKS = 256;

/** One more than the largest index that follows `prefix`, e.g. 3 for `blocks.2.weight` and prefix `blocks.`; at most 256.
 *  @throws VdError `attr` for what are no names and no prefix */
export function countBelow(names: ReadonlySet<string>, prefix: string): number {
  requireArgument("countBelow names", names, NAMES);
  requireArgument("countBelow prefix", prefix, TEXT);
  let count = 0;
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const index = Number(/^\d+(?=\.)/.exec(name.slice(prefix.length))?.[0] ?? -1);
    count = Math.max(count, Math.min(index + 1, MAX_BLOCKS));
  }
  return count;
}

function joined(prefix: string, name: string): string {
  return prefix === "" ? name : `${prefix}.${name}`;
}
