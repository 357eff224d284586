/*
 * Shifts of flow matching's noise levels, which lie in 0…1. Source: https://arxiv.org/abs/2403.03206, section 5.3.2.
 */

/** How {@link dynamicFlowShift} reads its parameter. */
export type FlowShiftKind = "exponential" | "linear";

/**
 * Returns a flow noise level shifted towards more noise: shift·σ / (1 + (shift − 1)·σ). A shift of 1 changes nothing.
 *
 * @example
 * ```ts
 * import { flowShift, linearSigmas } from "@vd/sampling";
 *
 * console.log(linearSigmas({ min: 0.05, max: 1 }, 20).map((sigma) => flowShift(sigma, 3)));
 * ```
 */
export function flowShift(sigma: number, shift: number): number {
  return (shift * sigma) / (1 + (shift - 1) * sigma);
}

/** Returns a flow noise level shifted by `mu`, which grows with the resolution: {@link flowShift} by e^mu, or by mu itself where
 *  `kind` is "linear". */
export function dynamicFlowShift(sigma: number, mu: number, kind: FlowShiftKind = "exponential"): number {
  const shift = kind === "exponential" ? Math.exp(mu) : mu;
  return shift / (shift + (1 / sigma - 1));
}

/** Returns falling flow noise levels stretched so that the last one becomes `terminal`; 1 stays. */
export function stretchToTerminal(sigmas: readonly number[], terminal: number): number[] {
  const scale = (1 - sigmas.at(-1)!) / (1 - terminal);
  return sigmas.map((sigma) => 1 - (1 - sigma) / scale);
}
