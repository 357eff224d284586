import type { Mixture } from "../arithmetic/prediction";

/**
 * What samples are at noise level σ, for the multistep solvers: "vp" keeps the variance 1, "ve" adds σ·noise to the
 * data, "flow" blends (1 − σ)·data + σ·noise.
 */
export type SolverSpace = "vp" | "ve" | "flow";

const round = Math.fround;

/** The parts of a sample at σ, in float32. */
export function mixtureAt(space: SolverSpace, sigma: number): Mixture {
  if (space === "ve") return { signal: 1, noise: sigma };
  if (space === "flow") return { signal: round(1 - sigma), noise: sigma };
  const signal = round(1 / round(Math.sqrt(round(round(sigma * sigma) + 1))));
  return { signal, noise: round(sigma * signal) };
}

/** λ = ln(signal) − ln(noise), half the log signal-to-noise ratio, in float32. */
export function logSnr({ signal, noise }: Mixture): number {
  return round(round(Math.log(signal)) - round(Math.log(noise)));
}
