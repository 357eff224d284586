import type { Mixture } from "../arithmetic/prediction";
import { add, cast, div, type LatentDtype, mul, sub, type Values, weightedSum } from "../arithmetic/values";
import { logSnr } from "./solver-space";

const round = Math.fround;

/** Which B(h) the solver uses: h itself, or e^h − 1. */
export type UnipcType = "bh1" | "bh2";

/** A stretch of the trajectory and what is known before it. */
export interface UnipcStretch {
  type: UnipcType;
  /** True when the predictions are of the data, false when of the noise. */
  predictsData: boolean;
  to: Mixture;
  /** The parts of a sample where the stretch starts, then those before, as many as the order. */
  from: readonly Mixture[];
  /** The predictions there, newest first. */
  predictions: readonly Values[];
}

/** The stretch as numbers and divided differences. */
interface Expansion {
  /** Factor of the sample at the start. */
  sample: number;
  /** signal (or noise) at the end, times e^h − 1: factor of the first prediction. */
  first: number;
  /** signal (or noise) at the end, times B(h): factor of the correction. */
  correction: number;
  /** Where the older predictions lie, in units of h; then 1, the end. */
  positions: number[];
  differences: Values[];
  moments: number[];
}

/** b of equation 10 of https://arxiv.org/abs/2302.04867: what the corrections must sum to, per power. */
function momentsOf(hh: number, expMinusOne: number, scale: number, order: number): number[] {
  const moments: number[] = [];
  let phi = round(round(expMinusOne / hh) - 1);
  let factorial = 1;
  for (let i = 1; i <= order; i++) {
    moments.push(round(round(phi * factorial) / scale));
    factorial *= i + 1;
    phi = round(round(phi / hh) - round(1 / factorial));
  }
  return moments;
}

function expand({ type, predictsData, to, from, predictions }: UnipcStretch): Expansion {
  const start = from[0]!;
  const startLambda = logSnr(start);
  const h = round(logSnr(to) - startLambda);
  const positions = from.slice(1).map((parts) => round(round(logSnr(parts) - startLambda) / h));
  const hh = predictsData ? -h : h;
  const expMinusOne = round(Math.expm1(hh));
  const scale = type === "bh1" ? hh : expMinusOne;
  const [kept, reached] = predictsData ? [start.noise, to.noise] : [start.signal, to.signal];
  const target = predictsData ? to.signal : to.noise;
  return {
    sample: round(reached / kept),
    first: round(target * expMinusOne),
    correction: round(target * scale),
    positions: [...positions, 1],
    differences: positions.map((position, i) => div(sub(predictions[i + 1]!, predictions[0]!), position)),
    moments: momentsOf(hh, expMinusOne, scale, from.length),
  };
}

/**
 * Solves Σ_j positions[j]^i·x[j] = moments[i] in float32, by elimination with partial pivoting, rounding as LAPACK does:
 * fused multiply-adds, and reciprocals of the pivots.
 */
function solve(positions: readonly number[], moments: readonly number[]): number[] {
  const size = positions.length;
  const powers: number[][] = [positions.map(() => 1)];
  for (let i = 1; i < size; i++) powers.push(powers[i - 1]!.map((power, j) => round(power * positions[j]!)));
  const rows = powers.map((row, i) => [...row, moments[i]!]);
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let r = column + 1; r < size; r++) {
      if (Math.abs(rows[r]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = r;
    }
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    for (let r = column + 1; r < size; r++) {
      const factor = round(rows[r]![column]! * round(1 / rows[column]![column]!));
      rows[r] = rows[r]!.map((value, c) => (c < column ? value : round(value - factor * rows[column]![c]!)));
    }
  }
  const result = new Array<number>(size).fill(0);
  for (let r = size - 1; r >= 0; r--) {
    let rest = rows[r]![size]!;
    for (let c = r + 1; c < size; c++) rest = round(rest - rows[r]![c]! * result[c]!);
    result[r] = round(rest * round(1 / rows[r]![r]!));
  }
  return result;
}

/** Weights as torch holds them: in the latents' own type. */
function weightsIn(dtype: LatentDtype, weights: readonly number[]): number[] {
  return Array.from(cast({ data: Float32Array.from(weights), dtype: "float32" }, dtype).data);
}

/** The part of a step that needs no correction. */
function uncorrected(parts: Expansion, x: Values, newest: Values): Values {
  return sub(mul(parts.sample, x), mul(parts.first, newest));
}

/**
 * The predictor: the sample at the end of the stretch, from the one at its start. Source:
 * https://arxiv.org/abs/2302.04867; huggingface/diffusers@58eb52c schedulers/scheduling_unipc_multistep.py
 * `multistep_uni_p_bh_update`.
 */
export function unipcPredict(stretch: UnipcStretch, x: Values): Values {
  const parts = expand(stretch);
  const order = stretch.from.length;
  const base = uncorrected(parts, x, stretch.predictions[0]!);
  if (order === 1) return Number.isFinite(parts.correction) ? base : mul(base, Number.NaN);
  const weights = order === 2 ? [0.5] : solve(parts.positions.slice(0, -1), parts.moments.slice(0, -1));
  return sub(base, mul(parts.correction, weightedSum(weightsIn(x.dtype, weights), parts.differences)));
}

/**
 * The corrector: the sample at the end of the stretch again, now that the prediction there is known. Source: as above,
 * `multistep_uni_c_bh_update`.
 */
export function unipcCorrect(stretch: UnipcStretch, x: Values, prediction: Values): Values {
  const parts = expand(stretch);
  const order = stretch.from.length;
  const solved = order === 1 ? [0.5] : solve(parts.positions, parts.moments);
  const weights = weightsIn(x.dtype, solved);
  const newest = stretch.predictions[0]!;
  const change = mul(weights.at(-1)!, sub(prediction, newest));
  const correction = order === 1 ? change : add(weightedSum(weights.slice(0, -1), parts.differences), change);
  return sub(uncorrected(parts, x, newest), mul(parts.correction, correction));
}
