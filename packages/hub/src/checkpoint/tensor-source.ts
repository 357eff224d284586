import { having, type Wanted } from "@vd/kernels-native";

/** What tensors that are gone through must be. */
export const ENTRIES: Wanted = having("a list of tensors", [Symbol.iterator]);

/** A tensor as a safetensors header describes it. */
export interface TensorEntry {
  name: string;
  /** `F16`, `F32`, `BF16`, … */
  dtype: string;
  shape: readonly number[];
}

/** A tensor that is made out of one tensor of the file: cut, then turned, then reshaped. */
export interface StoredSource {
  /** Name of the tensor in the file. */
  name: string;
  /** First row and the row after the last one: a slice of dimension 0, which lies in one piece. */
  rows?: [begin: number, end: number];
  /** Swap the two dimensions of a matrix: the only change that moves bytes. */
  transpose?: true;
  /** The same bytes with other dimensions. */
  reshape?: number[];
  /** Type and dimensions of the result. */
  dtype: string;
  shape: number[];
}

/** A tensor that the file does not hold because its layer is folded into another one. */
export interface MadeSource {
  /** `identity`: a 1×1 convolution or matrix that changes nothing; `zeros`: its bias. */
  made: "identity" | "zeros";
  dtype: string;
  shape: number[];
}

/** Where a tensor in the names of the folder layout comes from. */
export type TensorSource = StoredSource | MadeSource;

/** Where a tensor in the original names comes from: one tensor of a network, or several put together. Component: names of
 *  the model's networks. */
export interface ExportSource<Component extends string = string> {
  component: Component;
  /** Tensors in the names of the folder layout, put together along dimension 0. */
  names: string[];
  transpose?: true;
  reshape?: number[];
  dtype: string;
  shape: number[];
}
