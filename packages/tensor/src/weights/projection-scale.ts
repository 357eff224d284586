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

/** Elements of the weight that are read at a time. */
const BLOCK = 2 ** 16;

/** The square of a row's length, each number times its factor: four sums, since an addition waits for the one before it. */
function squareOf(row: Float32Array, factors: Float32Array): number {
  let [s0, s1, s2, s3, c] = [0, 0, 0, 0, 0];
  for (; c + 4 <= row.length; c += 4) {
    const v0 = row[c]! * factors[c]!;
    const v1 = row[c + 1]! * factors[c + 1]!;
    const v2 = row[c + 2]! * factors[c + 2]!;
    const v3 = row[c + 3]! * factors[c + 3]!;
    s0 += v0 * v0;
    s1 += v1 * v1;
    s2 += v2 * v2;
    s3 += v3 * v3;
  }
  for (; c < row.length; c++) s0 += (row[c]! * factors[c]!) ** 2;
  return s0 + s1 + (s2 + s3);
}

function dotOf(row: Float32Array, shifts: Float32Array): number {
  let sum = 0;
  for (let c = 0; c < row.length; c++) sum += row[c]! * shifts[c]!;
  return sum;
}

function* largestOf({ normWeight, normBias, weight, bias }: NormedProjection): Pausable<number> {
  const [rows, width] = weight.dims as [number, number];
  const [factors, shifts, biases] = [valuesOf(normWeight), normBias && valuesOf(normBias), bias && valuesOf(bias)];
  const atOnce = Math.max(1, Math.floor(BLOCK / width));
  let largest = 0;
  for (let first = 0; first < rows; first += atOnce) {
    const count = Math.min(atOnce, rows - first);
    const numbers = valuesOf(weight, first * width, count * width);
    for (let i = 0; i < count; i++) {
      const row = numbers.subarray(i * width, (i + 1) * width);
      const mean = (biases ? biases[first + i]! : 0) + (shifts ? dotOf(row, shifts) : 0);
      // The length of what a norm leaves is √C, so that no product of it with a row is longer than both.
      largest = Math.max(largest, Math.sqrt(squareOf(row, factors) * width) + Math.abs(mean));
    }
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
