import type { Pausable } from "./pausable";

/** Sizes of frames of planes: F, C, H, W. */
export type PlaneDims = readonly [frames: number, channels: number, height: number, width: number];

/** Writes planes [F,C,H,W] as pixels [F,H,W,C] to `result`, pausing after each plane. dims: F, C, H, W. */
export function* planesToPixels(planes: Float32Array, dims: PlaneDims, result: Float32Array): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[at + i * channels] = planes[plane * area + i]!;
    yield;
  }
  return result;
}

/** Writes pixels [F,H,W,C] as planes [F,C,H,W] to `result`, pausing after each plane. dims: F, C, H, W. */
export function* pixelsToPlanes(pixels: Float32Array, dims: PlaneDims, result: Float32Array): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[plane * area + i] = pixels[at + i * channels]!;
    yield;
  }
  return result;
}
