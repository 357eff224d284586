import { COUNT, requireArgument } from "@vd/kernels-native";

/**
 * Weights of the antialiasing blur along an axis that is resized from `sourceSize` to `size`: an odd number of them,
 * in float32. σ = max((sourceSize/size − 1)/2, 0.001), 4σ long but at least 3.
 * Source: huggingface/diffusers@58eb52c pipelines/stable_video_diffusion/pipeline_stable_video_diffusion.py
 * `_resize_with_antialiasing`, `_gaussian`.
 *
 * @throws VdError `attr` for sizes below 1
 */
export function gaussianKernel(sourceSize: number, size: number): Float32Array {
  requireArgument("gaussianKernel sourceSize", sourceSize, COUNT);
  requireArgument("gaussianKernel size", size, COUNT);
  const sigma = Math.max((sourceSize / size - 1) / 2, 0.001);
  const length = Math.trunc(Math.max(4 * sigma, 3)) | 1;
  const { fround } = Math;
  const twiceVariance = fround(2 * fround(fround(sigma) ** 2));
  const center = length >> 1;
  const weights = Float32Array.from({ length }, (_, i) => Math.exp(fround(-((i - center) ** 2) / twiceVariance)));
  const sum = weights.reduce((total, weight) => fround(total + weight), 0);
  return weights.map((weight) => weight / sum);
}
