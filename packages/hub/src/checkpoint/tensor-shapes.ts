import { having, listOf, requireArgument, TEXT, VdError, wholeFrom } from "@vd/kernels-native";

/** Dimensions of tensors by their names in the folder layout. */
export type Shapes = ReadonlyMap<string, { shape: readonly number[] }>;

const SHAPES = having("a Map of shapes", ["get"]);
const DIMENSION = wholeFrom(0);
const VALUES = listOf({ expected: "any value", fits: () => true });

/** The size of one dimension of a tensor. @throws VdError `weights` if there is no such tensor or dimension, `attr` for what are
 *  no shapes, no name and no dimension. */
export function sizeOf(shapes: Shapes, name: string, dimension: number): number {
  requireArgument("sizeOf shapes", shapes, SHAPES);
  requireArgument("sizeOf name", name, TEXT);
  requireArgument("sizeOf dimension", dimension, DIMENSION);
  const shape = shapes.get(name)?.shape;
  const size = shape?.[dimension];
  if (size !== undefined && size > 0) return size;
  throw new VdError({
    code: "weights",
    where: name,
    expected: `a tensor with a size in dimension ${dimension}`,
    got: shape === undefined ? "no such tensor" : `[${shape.join(", ")}]`,
    hint: "The checkpoint is damaged, or of another kind of model.",
  });
}

/** One value if all are the same, else the list: as the configuration files write values per level. @throws VdError `attr` for
 *  what is no list */
export function oneOrList<T>(values: readonly T[]): T | T[] {
  requireArgument("oneOrList", values, VALUES);
  return values.length > 0 && values.every((value) => value === values[0]) ? (values[0] as T) : [...values];
}
