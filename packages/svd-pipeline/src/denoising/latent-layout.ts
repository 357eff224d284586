import { type Pausable, pausable } from "@vd/tensor";

/** Sizes of latents, [F,C,h,w]. */
export type LatentDims = readonly [frames: number, channels: number, height: number, width: number];

/** Index of the first value of a plane among channels-last pixels. */
function firstPixel(plane: number, [, channels, height, width]: LatentDims): number {
  return Math.floor(plane / channels) * height * width * channels + (plane % channels);
}

/** Copies planes [F,C,h,w] to pixels [F,h,w,C] in `result`, which it returns. Pauses after each plane. dims: [F,C,h,w]. */
export const planesToPixels = pausable(function* (
  planes: Float32Array,
  dims: LatentDims,
  result: Float32Array,
): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = firstPixel(plane, dims);
    for (let i = 0; i < area; i++) result[at + i * channels] = planes[plane * area + i]!;
    yield;
  }
  return result;
});

/** Copies pixels [F,h,w,C] to planes [F,C,h,w] in `result`, which it returns. Pauses after each plane. dims: [F,C,h,w]. */
export const pixelsToPlanes = pausable(function* (
  pixels: Float32Array,
  dims: LatentDims,
  result: Float32Array,
): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = firstPixel(plane, dims);
    for (let i = 0; i < area; i++) result[plane * area + i] = pixels[at + i * channels]!;
    yield;
  }
  return result;
});
