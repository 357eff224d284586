import { oneOfThese, optional, requireFields } from "@vd/kernels-native";
import type { Pausable } from "../pausable";
import { TENSOR, type Tensor } from "../tensor";
import { codeScale, valuesOf } from "./code-scale";

/** A linear layer with a gated activation behind a LayerNorm. */
export interface GatedLayer {
  /** Of the norm, [C]; without a bias there is no shift. */
  normWeight: Tensor;
  normBias?: Tensor | undefined;
  /** [2N,C]: values, then gates. */
  weight: Tensor;
  /** [2N]. */
  bias?: Tensor | undefined;
  act: "geglu" | "swiglu";
}

/** How much larger numbers may be than the results' root mean square is expected to be. Float8 has full precision over a range of 28,000:
 *  the smallest number that has it is then 1/28 of the expected size. */
const HEADROOM = 1024;
/** Channels of the result that are looked at. */
const MOST_CHANNELS = 128;
/** Steps of the sum over a normal distribution, in deviations. */
const STEP = 0.25;
const REACH = 4;

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
/** gelu(x) is x · Φ(x), and Φ is nearly a sigmoid. Source: https://arxiv.org/abs/1606.08415. */
const GATES = { geglu: (x: number) => x * sigmoid(1.702 * x), swiglu: (x: number) => x * sigmoid(x) } as const;

const LAYER = {
  ...{ normWeight: TENSOR, normBias: optional(TENSOR), weight: TENSOR, bias: optional(TENSOR) },
  act: oneOfThese(Object.keys(GATES)),
};

/** Mean and deviation of a normally distributed number. */
interface Spread {
  mean: number;
  deviation: number;
}

/** The mean square of a gate. */
function gateSquare(gate: (x: number) => number, { mean, deviation }: Spread): number {
  let [sum, total] = [0, 0];
  for (let z = -REACH; z <= REACH; z += STEP) {
    const weight = Math.exp((-z * z) / 2);
    sum += weight * gate(mean + deviation * z) ** 2;
    total += weight;
  }
  return sum / total;
}

/** What a row of the weight makes of normalised channels that know nothing of each other. */
function spreadOf(row: Float32Array, factors: Float32Array, shifts: Float32Array | undefined, bias: number): Spread {
  let [mean, square] = [bias, 0];
  for (let c = 0; c < row.length; c++) {
    square += (row[c]! * factors[c]!) ** 2;
    if (shifts) mean += row[c]! * shifts[c]!;
  }
  return { mean, deviation: Math.sqrt(square) };
}

function* largestOf({ normWeight, normBias, weight, bias, act }: GatedLayer): Pausable<number> {
  const [rows, width] = weight.dims as [number, number];
  const half = rows / 2;
  const [factors, shifts, biases] = [valuesOf(normWeight), normBias && valuesOf(normBias), bias && valuesOf(bias)];
  const spread = (row: number) =>
    spreadOf(valuesOf(weight, row * width, width), factors, shifts, biases ? biases[row]! : 0);
  const every = Math.max(1, Math.floor(half / MOST_CHANNELS));
  let [sum, count] = [0, 0];
  for (let row = 0; row < half; row += every, count++) {
    const value = spread(row);
    sum += (value.mean ** 2 + value.deviation ** 2) * gateSquare(GATES[act], spread(half + row));
    yield;
  }
  return HEADROOM * Math.sqrt(sum / count);
}

/**
 * Returns the scale, [1,1,1,1], of float8 codes for the results of a linear layer with a gated activation behind a LayerNorm, without
 * calibration: a norm's results have a known size, so that the size of products follows from the weights. Codes have room for results
 * 1024 times as large as is expected, and full precision down to 1/28 of that. It is made when a plan that uses it is loaded.
 */
export function gatedScale(layer: GatedLayer): Tensor {
  requireFields("gatedScale", layer, LAYER);
  const { normWeight, normBias, weight, bias } = layer;
  const sources = [normWeight, normBias, weight, bias].filter((each) => each !== undefined);
  return codeScale(weight.storage.name, { sources, findLargest: () => largestOf(layer) });
}
