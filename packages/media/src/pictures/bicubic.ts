import { arrayOf, COUNT, requireArgument } from "@vd/kernels-native";

/** Sharpness of the cubic that torch uses. Source: pytorch/pytorch aten/src/ATen/native/UpSample.h. */
const sharpness = -0.75;

/** Four source samples for each sample of the result along one axis. */
export interface CubicTaps {
  /** [size, 4], positions in the source. */
  indices: Int32Array;
  /** [size, 4], in float32; their sum is 1. */
  weights: Float32Array;
}

/** What positions must be. */
export const POSITIONS = arrayOf("Int32Array");

/** The cubic within one sample of its centre. */
function near(x: number): number {
  return ((sharpness + 2) * x - (sharpness + 3)) * x * x + 1;
}

/** The cubic between one and two samples from its centre. */
function far(x: number): number {
  return ((sharpness * x - 5 * sharpness) * x + 8 * sharpness) * x - 4 * sharpness;
}

/**
 * Positions and weights of a cubic resize with aligned corners: positions in float32, as torch computes them, indices
 * repeated at the borders. Source: pytorch/pytorch aten/src/ATen/native/cpu/UpSampleKernel.cpp `HelperInterpCubic`.
 *
 * @throws VdError `attr` for sizes below 1
 */
export function cubicTaps(sourceSize: number, size: number): CubicTaps {
  requireArgument("cubicTaps sourceSize", sourceSize, COUNT);
  requireArgument("cubicTaps size", size, COUNT);
  const { fround } = Math;
  const scale = size > 1 ? fround((sourceSize - 1) / (size - 1)) : 0;
  const indices = new Int32Array(size * 4);
  const weights = new Float32Array(size * 4);
  for (let i = 0; i < size; i++) {
    const position = fround(scale * i);
    const base = Math.min(Math.floor(position), sourceSize - 1);
    const fraction = Math.min(Math.max(position - base, 0), 1);
    weights.set([far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)], i * 4);
    for (let k = 0; k < 4; k++) indices[i * 4 + k] = Math.min(Math.max(base + k - 1, 0), sourceSize - 1);
  }
  return { indices, weights };
}
