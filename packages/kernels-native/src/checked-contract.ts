/*
 * What callers get of the contract's arithmetic: the same, for arguments that may be anything. The contract itself knows no
 * errors, and its own code calls it with what it has defined.
 */
import { DTYPE_NAMES, type DType, dtypeIndex as indexOf } from "../contract/dtype";
import { countOf as elementsOf, spanOf as spanOfView } from "../contract/layout";
import { VdError } from "./errors";
import { shown } from "./shown";

function requireDims(where: string, dims: unknown): void {
  if (Array.isArray(dims)) return;
  throw new VdError({ code: "shape", where, expected: "a list of sizes", got: shown(dims) });
}

/**
 * The number of elements of a tensor with `dims`.
 *
 * @throws VdError `shape` for what is no list
 */
export function countOf(dims: readonly number[]): number {
  requireDims("countOf", dims);
  return elementsOf(dims);
}

/**
 * Elements a view with `dims` and `pitch` spans, from its first to its last: (pixels − 1) · pitch + channels.
 *
 * @throws VdError `shape` for what is no list
 */
export function spanOf(dims: readonly number[], pitch: number): number {
  requireDims("spanOf", dims);
  return spanOfView(dims, pitch);
}

/**
 * The number of `dtype` on the C++ side.
 *
 * @throws VdError `dtype` for what is none
 */
export function dtypeIndex(dtype: DType): number {
  const index = indexOf(dtype);
  if (index >= 0) return index;
  throw new VdError({ code: "dtype", where: "dtype", expected: `one of ${DTYPE_NAMES.join(", ")}`, got: shown(dtype) });
}
