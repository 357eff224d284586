import { type Pausable, pausable } from "./pausable";

/** Sizes of frames of planes: F, C, H, W. */
export type PlaneDims = readonly [frames: number, channels: number, height: number, width: number];

/** Copies planes [F,C,H,W] to pixels [F,H,W,C] in `result`, which it returns. Pauses after each plane. dims: F, C, H, W. */
export const planesToPixels = pausable(function* (
  planes: Float32Array,
  dims: PlaneDims,
  result: Float32Array,
): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[at + i * channels] = planes[plane * area + i]!;
    yield;
  }
  return result;
});

/** Copies pixels [F,H,W,C] to planes [F,C,H,W] in `result`, which it returns. Pauses after each plane. dims: F, C, H, W. */
export const pixelsToPlanes = pausable(function* (
  pixels: Float32Array,
  dims: PlaneDims,
  result: Float32Array,
): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[plane * area + i] = pixels[at + i * channels]!;
    yield;
  }
  return result;
});
