import type { Mixture } from "../arithmetic/prediction";
import { add, mul, type Values } from "../arithmetic/values";
import { logSnr } from "./solver-space";

/** One multistep step. */
export interface DeisStep {
  /** The parts of a sample where the step ends. */
  to: Mixture;
  /** The parts where it starts, then where the steps before started: as many as the order, 1 to 3. */
  from: readonly Mixture[];
  /** The noise predictions there, newest first. */
  predictions: readonly Values[];
}

/** ρ = noise/signal. */
const ratioOf = ({ signal, noise }: Mixture) => noise / signal;

/** The coefficients of Π (u − nodes[k]) in rising powers of u. */
function polynomial(nodes: readonly number[]): number[] {
  let product = [1];
  for (const node of nodes)
    product = Array.from({ length: product.length + 1 }, (_, i) => (product[i - 1] ?? 0) - node * (product[i] ?? 0));
  return product;
}

/** The antiderivative of (ln ρ)^power over ρ: Iₙ = ρ·lnⁿρ − n·Iₙ₋₁. At ρ = 0 it is 0. */
function powerIntegral(power: number, ratio: number): number {
  if (ratio === 0) return 0;
  if (power === 0) return ratio;
  return ratio * Math.log(ratio) ** power - power * powerIntegral(power - 1, ratio);
}

/**
 * Returns what each prediction contributes to the step in ρ from `ratios[0]` to `end`: the integral of its Lagrange polynomial in
 * ln ρ. ratios: ρ of the predictions, newest first.
 */
export function deisWeights(ratios: readonly number[], end: number): number[] {
  const logs = ratios.map(Math.log);
  return logs.map((log, i) => {
    const others = logs.filter((_, k) => k !== i);
    const scale = others.reduce((product, other) => product * (log - other), 1);
    const integral = (ratio: number) =>
      polynomial(others).reduce((sum, value, power) => sum + value * powerIntegral(power, ratio), 0);
    return (integral(end) - integral(ratios[0]!)) / scale;
  });
}

/**
 * Returns the sample after a step. Source: https://arxiv.org/abs/2204.13902, proposition 4; huggingface/diffusers@58eb52c
 * schedulers/scheduling_deis_multistep.py.
 */
export function deisUpdate({ from, to, predictions }: DeisStep, x: Values): Values {
  const weights = from.length === 1 ? [firstWeight(from[0]!, to)] : deisWeights(from.map(ratioOf), ratioOf(to));
  const kept = mul(to.signal / from[0]!.signal, x);
  return predictions.reduce((sum, prediction, i) => add(sum, mul(to.signal * weights[i]!, prediction)), kept);
}

/** The weight of a step of first order, ρ's gain: where the end has noise by λ in float32, as the reference has it, whose rounding
 *  tells near σ = 1 of flow samples. */
function firstWeight(from: Mixture, to: Mixture): number {
  if (to.noise === 0) return -ratioOf(from);
  const gain = Math.fround(logSnr(to) - logSnr(from));
  return (-to.noise * Math.fround(Math.fround(Math.exp(gain)) - 1)) / to.signal;
}
