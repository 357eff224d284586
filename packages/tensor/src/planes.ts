import { countOf, FLOATS_32, listOf, requireArgument, VdError, wholeFrom } from "@vd/kernels-native";
import { type Pausable, pausable } from "./pausable";

/** Sizes of frames of planes: F, C, H, W. */
export type PlaneDims = readonly [frames: number, channels: number, height: number, width: number];

const SIZES = listOf(wholeFrom(0), 4);

/** Refuses arrays that are not as long as the frames are large. @throws VdError `attr` or `shape` */
function requirePlanes(where: string, from: Float32Array, dims: PlaneDims, result: Float32Array): void {
  requireArgument(`${where} dims`, dims, SIZES);
  const count = countOf(dims);
  for (const [name, values] of Object.entries({ values: from, result })) {
    requireArgument(`${where} ${name}`, values, FLOATS_32);
    if (values.length < count)
      throw new VdError({
        code: "shape",
        where: `${where} ${name}`,
        expected: `${count} numbers`,
        got: `${values.length}`,
      });
  }
}

// Loops stand in functions of their own: what pauses is compiled anew behind each pause.

/** Copies `count` numbers from `from` on to every `step`-th place from `to` on. */
function spread(values: Float32Array, from: number, count: number, result: Float32Array, to: number, step: number) {
  for (let i = 0; i < count; i++) result[to + i * step] = values[from + i]!;
}

/** Copies every `step`-th number from `from` on, `count` of them, to the places from `to` on. */
function gather(values: Float32Array, from: number, step: number, count: number, result: Float32Array, to: number) {
  for (let i = 0; i < count; i++) result[to + i] = values[from + i * step]!;
}

/** Copies planes [F,C,H,W] to pixels [F,H,W,C] in `result`, which it returns. Pauses after each plane. dims: F, C, H, W. */
export const planesToPixels = pausable(function* (
  planes: Float32Array,
  dims: PlaneDims,
  result: Float32Array,
): Pausable<Float32Array> {
  requirePlanes("planesToPixels", planes, dims, result);
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    spread(planes, plane * area, area, result, at, channels);
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
  requirePlanes("pixelsToPlanes", pixels, dims, result);
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    gather(pixels, at, channels, area, result, plane * area);
    yield;
  }
  return result;
});
