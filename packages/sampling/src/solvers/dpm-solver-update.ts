import type { Mixture } from "../arithmetic/prediction";
import { add, mul, sub, type Values } from "../arithmetic/values";
import { logSnr } from "./solver-space";

/** The four solvers; "++" ones work on data predictions, the others on noise predictions, "sde" ones draw noise. */
export type DpmAlgorithm = "dpmsolver" | "dpmsolver++" | "sde-dpmsolver" | "sde-dpmsolver++";

/** How a step of second order uses the slope. */
export type DpmSolverType = "midpoint" | "heun";

const round = Math.fround;
const exp = (value: number) => round(Math.exp(value));
const root = (value: number) => round(Math.sqrt(value));

/** exp(value) − 1 the way the reference computes it: two float32 roundings, not expm1. */
function expMinusOne(value: number): number {
  return round(exp(value) - 1);
}

/** A step as factors of the sample, of each difference D0, D1, D2 and of the fresh noise. */
export interface StepWeights {
  sample: number;
  differences: readonly number[];
  noise?: number;
}

/** What the weights depend on. */
export interface StepSize {
  from: Mixture;
  to: Mixture;
  /** λ gained by the step; infinite when it ends without noise. */
  h: number;
  order: number;
  type: DpmSolverType;
}

/** Source: https://arxiv.org/abs/2211.01095, algorithm 2 and appendix B. */
function dataWeights({ from, to, h, order, type }: StepSize): StepWeights {
  const phi = expMinusOne(-h);
  const slope = () => round(to.signal * round(round(phi / h) + 1));
  const first = -round(to.signal * phi);
  const differences = [first];
  if (order === 2) differences.push(type === "midpoint" ? round(0.5 * first) : slope());
  if (order === 3) {
    const curvature = round(round(round(phi + h) / round(h * h)) - 0.5);
    differences.push(slope(), -round(to.signal * curvature));
  }
  return { sample: round(to.noise / from.noise), differences };
}

/** Source: https://arxiv.org/abs/2206.00927, algorithms 1, 2 and 5. */
function noiseWeights({ from, to, h, order, type }: StepSize): StepWeights {
  const phi = expMinusOne(h);
  const slope = () => -round(to.noise * round(round(phi / h) - 1));
  const first = -round(to.noise * phi);
  const differences = [first];
  if (order === 2) differences.push(type === "midpoint" ? round(0.5 * first) : slope());
  if (order === 3) {
    const curvature = round(round(round(phi - h) / round(h * h)) - 0.5);
    differences.push(slope(), -round(to.noise * curvature));
  }
  return { sample: round(to.signal / from.signal), differences };
}

function stochasticDataWeights({ from, to, h, order, type }: StepSize): StepWeights {
  const lost = round(1 - exp(-2 * h));
  const slope = () => round(to.signal * round(round(lost / round(-2 * h)) + 1));
  const first = round(to.signal * lost);
  const differences = [first];
  if (order === 2) differences.push(type === "midpoint" ? round(0.5 * first) : slope());
  if (order === 3) {
    const twice = round(2 * h);
    const curvature = round(round(round(lost - twice) / round(twice * twice)) - 0.5);
    differences.push(slope(), round(to.signal * curvature));
  }
  return {
    sample: round(round(to.noise / from.noise) * exp(-h)),
    differences,
    noise: round(to.noise * root(lost)),
  };
}

/** There is no third-order form; configs that ask for one are refused when the sampler is made. */
function stochasticNoiseWeights({ from, to, h, order, type }: StepSize): StepWeights {
  const phi = expMinusOne(h);
  const scaled = round(to.noise * phi);
  const differences = [-round(2 * scaled)];
  if (order === 2) {
    differences.push(type === "midpoint" ? -scaled : -round(2 * round(to.noise * round(round(phi / h) - 1))));
  }
  return {
    sample: round(to.signal / from.signal),
    differences,
    noise: round(to.noise * root(round(exp(2 * h) - 1))),
  };
}

/** Weights of a step by its algorithm. */
export const weightsOf: Readonly<Record<DpmAlgorithm, (size: StepSize) => StepWeights>> = {
  "dpmsolver++": dataWeights,
  dpmsolver: noiseWeights,
  "sde-dpmsolver++": stochasticDataWeights,
  "sde-dpmsolver": stochasticNoiseWeights,
};

/** The last predictions, newest first, as divided differences D0, D1, D2 over the steps `h`, `past`. */
function differences(predictions: readonly Values[], h: number, past: readonly number[]): Values[] {
  const [m0, m1, m2] = predictions;
  if (m1 === undefined) return [m0!];
  const r0 = round(past[0]! / h);
  const near = mul(round(1 / r0), sub(m0!, m1));
  if (m2 === undefined) return [m0!, near];
  const r1 = round(past[1]! / h);
  const both = round(r0 + r1);
  const far = mul(round(1 / r1), sub(m1, m2));
  const change = sub(near, far);
  return [m0!, add(near, mul(round(r0 / both), change)), mul(round(1 / both), change)];
}

/** One multistep step. */
export interface DpmStep {
  algorithm: DpmAlgorithm;
  type: DpmSolverType;
  /** The parts of a sample where the step ends. */
  to: Mixture;
  /** The parts where it starts, then where the steps before started: as many as the order. */
  from: readonly Mixture[];
  /** The predictions there, newest first. */
  predictions: readonly Values[];
}

/**
 * The sample after a step of the order that the history has (1 to 3). `x` is float32. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_dpmsolver_multistep.py.
 */
export function dpmSolverUpdate(step: DpmStep, x: Values, noise: Values): Values {
  const { algorithm, type, to, from, predictions } = step;
  const lambdas = from.map(logSnr);
  const h = round(logSnr(to) - lambdas[0]!);
  const past = lambdas.slice(1).map((lambda, i) => round(lambdas[i]! - lambda));
  const weights = weightsOf[algorithm]({ from: from[0]!, to, h, order: from.length, type });
  const terms = differences(predictions, h, past);
  return applyWeights(weights, x, terms, noise);
}

/** Returns the weighted sum of a sample, as many differences as are given, and noise. */
export function applyWeights(weights: StepWeights, x: Values, terms: readonly Values[], noise: Values): Values {
  const moved = terms.reduce((sum, term, i) => add(sum, mul(weights.differences[i]!, term)), mul(weights.sample, x));
  return weights.noise === undefined ? moved : add(moved, mul(weights.noise, noise));
}
