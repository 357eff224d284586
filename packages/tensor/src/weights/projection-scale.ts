import { optional, requireFields } from "@vd/kernels-native";
import { FLOAT8_E4M3_MAX } from "../float8";
import type { Pausable } from "../pausable";
import { requireTensor, TENSOR, type Tensor } from "../tensor";
import { codeScale, valuesOf, visitRows } from "./code-scale";

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

/** What follows from a row of the weight: the square of its length, each number times its factor, and its product with the shifts. Four sums
 *  of each, since an addition waits for the one before it. */
function sumsOf(row: Float32Array, factors: Float32Array, shifts: Float32Array): { square: number; dot: number } {
  let [s0, s1, s2, s3, c] = [0, 0, 0, 0, 0];
  let [d0, d1, d2, d3] = [0, 0, 0, 0];
  for (; c + 4 <= row.length; c += 4) {
    const w0 = row[c]!;
    const w1 = row[c + 1]!;
    const w2 = row[c + 2]!;
    const w3 = row[c + 3]!;
    const v0 = w0 * factors[c]!;
    const v1 = w1 * factors[c + 1]!;
    const v2 = w2 * factors[c + 2]!;
    const v3 = w3 * factors[c + 3]!;
    s0 += v0 * v0;
    s1 += v1 * v1;
    s2 += v2 * v2;
    s3 += v3 * v3;
    d0 += w0 * shifts[c]!;
    d1 += w1 * shifts[c + 1]!;
    d2 += w2 * shifts[c + 2]!;
    d3 += w3 * shifts[c + 3]!;
  }
  for (; c < row.length; c++) {
    s0 += (row[c]! * factors[c]!) ** 2;
    d0 += row[c]! * shifts[c]!;
  }
  return { square: s0 + s1 + (s2 + s3), dot: d0 + d1 + (d2 + d3) };
}

/** Looks for what no result of a layer exceeds, rows of its weight after each other. */
class Bound {
  /** What none of the rows so far exceeds. */
  largest = 0;
  private readonly factors: Float32Array;
  private readonly shifts: Float32Array;
  private readonly biases: Float32Array;

  constructor({ normWeight, normBias, weight, bias }: NormedProjection) {
    const [rows, width] = weight.dims as [number, number];
    this.factors = valuesOf(normWeight);
    this.shifts = normBias ? valuesOf(normBias) : new Float32Array(width);
    this.biases = bias ? valuesOf(bias) : new Float32Array(rows);
  }

  /** rows: whole rows of the weight, of which `first` is the first. */
  add(rows: Float32Array, first: number): void {
    const width = this.factors.length;
    for (let i = 0; i * width < rows.length; i++) {
      const { square, dot } = sumsOf(rows.subarray(i * width, (i + 1) * width), this.factors, this.shifts);
      // The length of what a norm leaves is √C, so that no product of it with a row is longer than both.
      this.largest = Math.max(this.largest, Math.sqrt(square * width) + Math.abs(this.biases[first + i]! + dot));
    }
  }

  /** The number that the largest code stands for. */
  get ofLargestCode(): number {
    return (this.largest * FLOAT8_E4M3_MAX) / MOST_OF_SCORES;
  }
}

function* largestOf(layer: NormedProjection): Pausable<number> {
  const [rows, width] = layer.weight.dims as [number, number];
  const bound = new Bound(layer);
  for (let row = 0; row < rows; row++) {
    bound.add(valuesOf(layer.weight, row * width, width), row);
    yield;
  }
  return bound.ofLargestCode;
}

async function largestBeside(layer: NormedProjection): Promise<number> {
  const bound = new Bound(layer);
  await visitRows(layer.weight, (rows, first) => bound.add(rows, first));
  return bound.ofLargestCode;
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
  return codeScale(weight.storage.name, {
    sources,
    findLargest: () => largestOf(layer),
    findLargestBeside: () => largestBeside(layer),
  });
}

function* largestMean(valueScale: Tensor): Pausable<number> {
  yield;
  return MOST_OF_SCORES * valuesOf(valueScale)[0]!;
}

/**
 * Returns the scale, [1,1,1,1], of float8 codes for the results of attention over values of a scale of {@link projectionScale}: means of
 * values are no larger than those, whose largest code is 28 where that of results is 448. It is made when a plan that uses it is loaded.
 */
export function attentionScale(valueScale: Tensor): Tensor {
  requireTensor("attentionScale valueScale", valueScale);
  const { name } = valueScale.storage;
  return codeScale(`${name}, attention`, { sources: [valueScale], findLargest: () => largestMean(valueScale) });
}
