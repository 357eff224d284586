import { FINITE, numberFrom, requireArgument, requireFields } from "@vd/kernels-native";

/** Numbers of EDM's formulas at one noise level. Source: https://arxiv.org/abs/2206.00364 table 1. */
export interface Preconditioning {
  /** Of the noisy frame in the denoised one. */
  skip: number;
  /** Of the network's result. */
  out: number;
  /** Of the noisy frame before the network. */
  input: number;
  /** What the network is told of the level. */
  timestep: number;
}

const SIGMA = numberFrom(0);

/** EDM's preconditioning at noise level `sigma`. */
export function preconditioning(sigma: number, sigmaData: number): Preconditioning {
  requireArgument("preconditioning sigma", sigma, SIGMA);
  requireArgument("preconditioning sigmaData", sigmaData, SIGMA);
  const square = sigma * sigma + sigmaData * sigmaData;
  return {
    skip: (sigmaData * sigmaData) / square,
    out: (sigma * sigmaData) / Math.sqrt(square),
    input: 1 / Math.sqrt(square),
    timestep: Math.log(sigma) / 4,
  };
}

/**
 * One Euler step from `sigma` to `next` as factors of the noisy frame and of the network's result: with d = skip·x + out·F,
 * x' = d + (x − d)·next/sigma is linear in both.
 */
export function eulerStep(level: Preconditioning, sigma: number, next: number): { sample: number; result: number } {
  requireFields("eulerStep", level, { skip: FINITE, out: FINITE });
  requireArgument("eulerStep sigma", sigma, SIGMA);
  requireArgument("eulerStep next", next, SIGMA);
  const { skip, out } = level;
  const rest = next / sigma;
  return { sample: skip * (1 - rest) + rest, result: out * (1 - rest) };
}
