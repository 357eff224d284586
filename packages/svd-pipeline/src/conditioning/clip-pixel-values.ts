import { VdError } from "@vd/kernels-native";
import {
  BlurredRows,
  type CubicTaps,
  checkPixels,
  checkRgbImage,
  cubicTaps,
  type FloatImage,
  gaussianKernel,
  type RgbImage,
  reindexed,
  usedPositions,
} from "@vd/media";
import { type Pausable, pausable } from "@vd/tensor";
import { checkFloatImage, isFloatImage } from "./float-image";

/** What the image encoder expects, from the checkpoint's feature_extractor/preprocessor_config.json. */
export interface ClipPixelOptions {
  /** Side of the square result in pixels. */
  size: number;
  /** Per channel, red first, of values in [0, 1]. */
  mean: readonly number[];
  /** Per channel, red first. */
  std: readonly number[];
}

const where = "clip input";

function checkOptions({ size, mean, std }: ClipPixelOptions): void {
  checkPixels("size", size, where);
  for (const [name, values] of Object.entries({ mean, std })) {
    if (values.length === 3 && values.every(Number.isFinite)) continue;
    const got = JSON.stringify(values);
    throw new VdError({ code: "attr", where, expected: `${name} as three numbers, one per channel`, got });
  }
}

/** Reflection needs a second pixel; torch refuses a picture of one row or column as well. */
function checkSides({ width, height }: RgbImage | FloatImage): void {
  if (width > 1 && height > 1) return;
  const expected = "a picture of at least 2×2 pixels";
  throw new VdError({ code: "shape", where, expected, got: `${width}×${height} pixels` });
}

/** Along x: [columns,3] to [size,3] at `to` of `result`. */
function interpolateRow(row: Float32Array, { indices, weights }: CubicTaps, result: Float32Array, to: number): void {
  const size = indices.length / 4;
  for (let x = 0; x < size; x++) {
    for (let channel = 0; channel < 3; channel++) {
      let sum = 0;
      for (let k = 4 * x; k < 4 * x + 4; k++) sum += weights[k]! * row[indices[k]! * 3 + channel]!;
      result[to + x * 3 + channel] = sum;
    }
  }
}

/** From [-1, 1] to [0, 1] and to the encoder's mean and spread, each operation rounded to float32. */
function normalise(value: number, mean: number, std: number): number {
  const { fround } = Math;
  return fround(fround(fround(value) + 1) / 2 - mean) / std;
}

/** Along y and into planes: [rows,size,3] to row `y` of [3,size,size], normalised. */
function finishRow(
  rows: Float32Array,
  { indices, weights }: CubicTaps,
  y: number,
  { size, mean, std }: ClipPixelOptions,
  result: Float32Array,
): void {
  for (let channel = 0; channel < 3; channel++) {
    const channelMean = Math.fround(mean[channel]!);
    const channelStd = Math.fround(std[channel]!);
    const to = (channel * size + y) * size;
    for (let x = 0; x < size; x++) {
      let sum = 0;
      for (let k = 4 * y; k < 4 * y + 4; k++) sum += weights[k]! * rows[(indices[k]! * size + x) * 3 + channel]!;
      result[to + x] = normalise(sum, channelMean, channelStd);
    }
  }
}

/**
 * Returns the image encoder's view of a picture, [1,3,size,size]: in [-1, 1], blurred against aliasing, resized by a
 * cubic (A = −0.75) with aligned corners and no clamp, back to [0, 1], less the mean, over the spread. Pauses after
 * each row. Source: huggingface/diffusers@58eb52c pipelines/stable_video_diffusion/pipeline_stable_video_diffusion.py
 * `_encode_image`, `_resize_with_antialiasing`.
 *
 * @throws VdError `shape` for a picture below 2×2 or data of another length, `attr` for options that do not fit
 */
export const clipPixelValues = pausable(function* (
  image: RgbImage | FloatImage,
  options: ClipPixelOptions,
): Pausable<Float32Array> {
  if (isFloatImage(image)) checkFloatImage(image);
  else checkRgbImage(image, where);
  checkOptions(options);
  checkSides(image);
  const { size } = options;
  const tapsX = cubicTaps(image.width, size);
  yield;
  const tapsY = cubicTaps(image.height, size);
  yield;
  const columns = usedPositions(tapsX);
  const rows = usedPositions(tapsY);
  yield;

  // Blur where the cubic will look, and interpolate along x at once. [rows,size,3]
  const kernels = { x: gaussianKernel(image.width, size), y: gaussianKernel(image.height, size) };
  yield;
  const blurred = new BlurredRows(image, kernels, columns);
  yield;
  const placesX = reindexed(tapsX, columns);
  const row = new Float32Array(columns.length * 3);
  const narrow = new Float32Array(rows.length * size * 3);
  for (let i = 0; i < rows.length; i++) {
    yield* blurred.row(rows[i]!, row);
    yield;
    interpolateRow(row, placesX, narrow, i * size * 3);
    yield;
  }

  const placesY = reindexed(tapsY, rows);
  const result = new Float32Array(3 * size * size);
  for (let y = 0; y < size; y++) {
    finishRow(narrow, placesY, y, options, result);
    yield;
  }
  return result;
});
