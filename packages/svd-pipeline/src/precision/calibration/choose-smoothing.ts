import {
  decodeStored,
  elementBytes,
  FLOAT8_E4M3_VALUES,
  float32ToFloat8,
  LARGEST_CODES,
  type Pausable,
  type QuantizedType,
  type Tensor,
} from "@vd/tensor";
import type { LayerScales } from "../layer-scales";
import type { LayerRecord } from "./layer-record";

/** Strengths of smoothing that are tried, besides none: how much of the activations' range goes to the weights. */
export const STRENGTHS = [0.25, 0.5, 0.75] as const;
/** Rows of a weight on which errors are measured. */
const NUM_ROWS = 48;
/** No channel is divided, or multiplied, by more than two to this power. */
const MOST_EXPONENT = 12;

/** What was chosen for a layer in one type. */
export interface ChosenScales extends LayerScales {
  /** The strength of its smoothing, 0 for none. */
  strength: number;
  /** `error` as it would be without smoothing. */
  plainError: number;
}

/** Rows of a weight as float32. */
interface Rows {
  rows: Float32Array[];
  /** The largest magnitude of each column over all rows, [C]. */
  largest: Float32Array;
}

/** Reads the largest magnitude of each column, and some of the rows; of filters their middle taps. Pauses after each row. weight: [N,C] or
 *  [K,C,T,1,1]. */
function* readRows({ storage, dtype, byteOffset, dims }: Tensor): Pausable<Rows> {
  const [numRows, width, numTaps = 1] = dims as [number, number, number?];
  const { buffer, byteOffset: base } = storage.place!;
  const every = Math.max(1, Math.floor(numRows / NUM_ROWS));
  const largest = new Float32Array(width);
  const rows: Float32Array[] = [];
  const bytes = width * numTaps * elementBytes(dtype);
  const middle = numTaps >> 1;
  for (let row = 0; row < numRows; row++) {
    const stored = buffer.readSync(new Uint8Array(bytes), base + byteOffset + row * bytes);
    const all = decodeStored(stored, dtype);
    const numbers = numTaps === 1 ? all : Float32Array.from({ length: width }, (_, i) => all[i * numTaps + middle]!);
    for (let i = 0; i < width; i++) largest[i] = Math.max(largest[i]!, Math.abs(numbers[i]!));
    if (row % every === 0) rows.push(numbers.slice());
    yield;
  }
  return { rows, largest };
}

/** SmoothQuant's factors as powers of two: largest activation^strength / largest weight^(1 − strength), the middle one 1. Source:
 *  https://arxiv.org/abs/2211.10438. */
export function smoothingExponents(activations: Float32Array, weights: Float32Array, strength: number): Int8Array {
  const raw = Float32Array.from(activations, (largest, i) => {
    const [a, w] = [Math.max(largest, 1e-6), Math.max(weights[i]!, 1e-6)];
    return strength * Math.log2(a) - (1 - strength) * Math.log2(w);
  });
  const middle = raw.slice().sort()[raw.length >> 1]!;
  return Int8Array.from(raw, (each) => Math.max(-MOST_EXPONENT, Math.min(MOST_EXPONENT, Math.round(each - middle))));
}

/** Rounds numbers as 8 bits with a scale would, in place. */
function roundTo(type: QuantizedType, numbers: Float32Array, largest: number): void {
  const scale = Math.max(largest / LARGEST_CODES[type], 2 ** -126);
  const most = LARGEST_CODES[type];
  for (let i = 0; i < numbers.length; i++) {
    const scaled = numbers[i]! / scale;
    const code =
      type === "i8"
        ? Math.round(Math.max(-most, Math.min(most, scaled)))
        : FLOAT8_E4M3_VALUES[float32ToFloat8(scaled)]!;
    numbers[i] = code * scale;
  }
}

const largestOf = (numbers: Float32Array) => numbers.reduce((most, each) => Math.max(most, Math.abs(each)), 0);

const product = (a: Float32Array, b: Float32Array) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
};

/** Tokens and rows that errors are measured on, and the exact products of each with each. */
interface Trial {
  tokens: readonly Float32Array[];
  rows: readonly Float32Array[];
  exact: Float64Array;
}

function makeTrial(tokens: readonly Float32Array[], rows: readonly Float32Array[]): Trial {
  const exact = new Float64Array(tokens.length * rows.length);
  tokens.forEach((token, t) => {
    rows.forEach((row, r) => {
      exact[t * rows.length + r] = product(token, row);
    });
  });
  return { tokens, rows, exact };
}

/** How a layer's input is rounded: with the largest magnitude of all, or of each token. */
type InputRange = number | "token";

/** Mean squared error of products in 8 bits over the mean square of the exact ones. */
function errorOf(
  { tokens, rows, exact }: Trial,
  type: QuantizedType,
  range: InputRange,
  exponents?: Int8Array,
): number {
  const scaled = (numbers: Float32Array, sign: 1 | -1) =>
    exponents ? numbers.map((each, i) => each * 2 ** (sign * exponents[i]!)) : numbers.slice();
  const rounded = (numbers: Float32Array, largest = largestOf(numbers)) => {
    roundTo(type, numbers, largest);
    return numbers;
  };
  const weights = rows.map((row) => rounded(scaled(row, 1)));
  let [error, total] = [0, 0];
  tokens.forEach((token, t) => {
    const input = rounded(scaled(token, -1), range === "token" ? undefined : range);
    weights.forEach((weight, r) => {
      const wanted = exact[t * rows.length + r]!;
      error += (product(input, weight) - wanted) ** 2;
      total += wanted ** 2;
    });
  });
  return error / Math.max(total, 1e-30);
}

/** The largest magnitude of all channels after smoothing. */
function rangeOf(largest: Float32Array, exponents: Int8Array | undefined): number {
  return largest.reduce((most, each, i) => Math.max(most, exponents ? each / 2 ** exponents[i]! : each), 0);
}

function bestOf({ layer, largest }: LayerRecord, weights: Rows, trial: Trial, type: QuantizedType): ChosenScales {
  const rangeFor = (exponents?: Int8Array): InputRange =>
    layer.kind === "normLinear" ? "token" : rangeOf(largest, exponents);
  const plain = errorOf(trial, type, rangeFor());
  let best: ChosenScales = { largest: rangeOf(largest, undefined), strength: 0, error: plain, plainError: plain };
  if (!layer.isFoldable) return best;
  for (const strength of STRENGTHS) {
    const exponents = smoothingExponents(largest, weights.largest, strength);
    const error = errorOf(trial, type, rangeFor(exponents), exponents);
    if (error < best.error)
      best = { largest: rangeOf(largest, exponents), exponents, strength, error, plainError: plain };
  }
  return best;
}

/** Chooses for each type the smoothing of a layer whose results come nearest to the exact ones. Its weight is in memory. Pauses. */
export function* chooseScales(record: LayerRecord): Pausable<Record<QuantizedType, ChosenScales>> {
  const weights = yield* readRows(record.layer.weight);
  const trial = makeTrial(record.tokens, weights.rows);
  yield;
  const i8 = bestOf(record, weights, trial, "i8");
  yield;
  return { i8, f8e4m3: bestOf(record, weights, trial, "f8e4m3") };
}
