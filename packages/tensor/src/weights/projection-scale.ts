import { optional, requireFields } from "@vd/kernels-native";
import { FLOAT8_E4M3_MAX } from "../float8";
import type { Pausable } from "../pausable";
import { TENSOR, type Tensor } from "../tensor";
import { codeScale, valuesOf } from "./code-scale";

/** A linear layer behind a LayerNorm. */
export interface NormedProjection {
  /** Of the norm, [C]; without a bias there is no shift. */
  normWeight: Tensor;
  normBias?: Tensor | undefined;
  /** [N,C]. */
  weight: Tensor;
  /** [N]. */
  bias?: Tensor | undefined;
}

/** The largest code of queries and keys: 64 products of two such stay within float16, in which tensor cores add up scores. */
const MOST_OF_SCORES = 28;

const PROJECTION = { normWeight: TENSOR, normBias: optional(TENSOR), weight: TENSOR, bias: optional(TENSOR) };

function* largestOf({ normWeight, normBias, weight, bias }: NormedProjection): Pausable<number> {
  const [rows, width] = weight.dims as [number, number];
  const [factors, shifts, biases] = [valuesOf(normWeight), normBias && valuesOf(normBias), bias && valuesOf(bias)];
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    const numbers = valuesOf(weight, row * width, width);
    let [square, mean] = [0, biases ? biases[row]! : 0];
    for (let c = 0; c < width; c++) {
      square += (numbers[c]! * factors[c]!) ** 2;
      if (shifts) mean += numbers[c]! * shifts[c]!;
    }
    // The length of what a norm leaves is √C, so that no product of it with a row is longer than both.
    largest = Math.max(largest, Math.sqrt(square * width) + Math.abs(mean));
    yield;
  }
  return (largest * FLOAT8_E4M3_MAX) / MOST_OF_SCORES;
}

/**
 * Returns the scale, [1,1,1,1], of float8 codes for queries, keys and values that a linear layer behind a LayerNorm leaves, without
 * calibration: what a norm leaves has a known length, so that no result exceeds what follows from the weights. The largest is a code of 28,
 * as `attention_f8` wants them. Float8 has the same precision over a range of 1,800 below it. It is made when a plan that uses it is
 * loaded.
 */
export function projectionScale(layer: NormedProjection): Tensor {
  requireFields("projectionScale", layer, PROJECTION);
  const { normWeight, normBias, weight, bias } = layer;
  const sources = [normWeight, normBias, weight, bias].filter((each) => each !== undefined);
  return codeScale(weight.storage.name, sources, () => largestOf(layer));
}
