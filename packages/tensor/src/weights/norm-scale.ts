import type { Pausable } from "../pausable";
import { requireTensor, type Tensor } from "../tensor";
import { codeScale, valuesOf } from "./code-scale";

/** Deviations of a normalised number that float8 codes have room for. Few numbers of a picture are beyond 10; float8's smallest
 *  numbers of full precision then stand for 0.001 deviations. */
const MOST_DEVIATIONS = 24;

function* largestOf(weight: Tensor, bias: Tensor): Pausable<number> {
  const [factors, shifts] = [valuesOf(weight), valuesOf(bias)];
  let largest = 0;
  factors.forEach((factor, c) => {
    largest = Math.max(largest, Math.abs(factor) * MOST_DEVIATIONS + Math.abs(shifts[c]!));
  });
  yield;
  return largest;
}

function* bound(weight: Tensor, bias: Tensor): Pausable<number> {
  const [factors, shifts] = [valuesOf(weight), valuesOf(bias)];
  const most = Math.sqrt(factors.length);
  yield;
  return factors.reduce((largest, factor, c) => Math.max(largest, Math.abs(factor) * most + Math.abs(shifts[c]!)), 0);
}

/**
 * Returns the scale, [1,1,1,1], of float8 codes for what a LayerNorm with these weights leaves, without calibration: a number of C that are
 * normalised together is √C deviations at most, so that no code saturates. It is made when a plan that uses it is loaded.
 *
 * weight, bias: [C], in a float type, e.g. from {@link Weights}.
 */
export function layerNormScale(weight: Tensor, bias: Tensor): Tensor {
  requireTensor("layerNormScale weight", weight);
  requireTensor("layerNormScale bias", bias);
  return codeScale(weight.storage.name, { sources: [weight, bias], findLargest: () => bound(weight, bias) });
}

/**
 * Returns the scale, [1,1,1,1], of float8 codes for what a norm with these weights leaves: as large as 24 deviations of any
 * channel. Float8 has the same precision over a range of 30,000, so that this needs no calibration. It is made when a plan that
 * uses it is loaded.
 *
 * weight, bias: [C], in a float type, e.g. from {@link Weights}.
 */
export function normScale(weight: Tensor, bias: Tensor): Tensor {
  requireTensor("normScale weight", weight);
  requireTensor("normScale bias", bias);
  return codeScale(weight.storage.name, { sources: [weight, bias], findLargest: () => largestOf(weight, bias) });
}
