/*
 * Shifts of flow matching's noise levels, which lie in 0…1. Source: https://arxiv.org/abs/2403.03206, section 5.3.2.
 */

import { listOf, NUMBER, oneOfThese, requireArgument } from "@vd/kernels-native";

const KINDS = ["exponential", "linear"] as const;

/** How {@link dynamicFlowShift} reads its parameter. */
export type FlowShiftKind = (typeof KINDS)[number];

const [KIND, LEVELS] = [oneOfThese(KINDS), listOf(NUMBER)];

/**
 * Returns a flow noise level shifted towards more noise: shift·σ / (1 + (shift − 1)·σ). A shift of 1 changes nothing.
 *
 * @throws VdError `attr` for what is no number
 * @example
 * ```ts
 * import { flowShift, linearSigmas } from "@vd/sampling";
 *
 * console.log(linearSigmas({ min: 0.05, max: 1 }, 20).map((sigma) => flowShift(sigma, 3)));
 * ```
 */
export function flowShift(sigma: number, shift: number): number {
  requireArgument("flowShift sigma", sigma, NUMBER);
  requireArgument("flowShift shift", shift, NUMBER);
  return (shift * sigma) / (1 + (shift - 1) * sigma);
}

/** Returns a flow noise level shifted by `mu`, which grows with the resolution: {@link flowShift} by e^mu, or by mu itself where
 *  `kind` is "linear". @throws VdError `attr` for what is no number, and for another kind */
export function dynamicFlowShift(sigma: number, mu: number, kind: FlowShiftKind = "exponential"): number {
  requireArgument("dynamicFlowShift sigma", sigma, NUMBER);
  requireArgument("dynamicFlowShift mu", mu, NUMBER);
  requireArgument("dynamicFlowShift kind", kind, KIND);
  const shift = kind === "exponential" ? Math.exp(mu) : mu;
  return shift / (shift + (1 / sigma - 1));
}

/** Returns falling flow noise levels stretched so that the last one becomes `terminal`; 1 stays. @throws VdError `attr` for what are no
 *  numbers */
export function stretchToTerminal(sigmas: readonly number[], terminal: number): number[] {
  requireArgument("stretchToTerminal sigmas", sigmas, LEVELS);
  requireArgument("stretchToTerminal terminal", terminal, NUMBER);
  const scale = (1 - sigmas.at(-1)!) / (1 - terminal);
  return sigmas.map((sigma) => 1 - (1 - sigma) / scale);
}
