import { VdError } from "@vd/kernels-native";

/** Dimensions of tensors by their names in the folder layout. */
export type Shapes = ReadonlyMap<string, { shape: readonly number[] }>;

/** The size of one dimension of a tensor. @throws VdError `weights` if there is no such tensor or dimension. */
export function sizeOf(shapes: Shapes, name: string, dimension: number): number {
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

/** One value if all are the same, else the list: as the configuration files write values per level. */
export function oneOrList<T>(values: readonly T[]): T | T[] {
  return values.length > 0 && values.every((value) => value === values[0]) ? (values[0] as T) : [...values];
}
