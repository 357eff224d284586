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

/** The same picture with its only row or column twice: reflection at the borders needs a second pixel, which is equal to the first
 *  wherever a line is all that there is. torch refuses such a picture. */
function twoLines<Image extends RgbImage | FloatImage>(image: Image): Image {
  const { width, height } = image;
  if (width > 1 && height > 1) return image;
  // One plane of pixels of three numbers, or three planes of single numbers.
  const [planes, items] = isFloatImage(image) ? [3, 1] : [1, 3];
  const size = { width: Math.max(width, 2), height: Math.max(height, 2) };
  const data = isFloatImage(image)
    ? new Float32Array(size.width * size.height * 3)
    : new Uint8Array(size.width * size.height * 3);
  for (let to = 0; to < data.length; to++) {
    const item = to % items;
    const x = Math.floor(to / items) % size.width;
    const y = Math.floor(to / items / size.width) % size.height;
    const plane = Math.floor(to / items / size.width / size.height) % planes;
    const from = (plane * height + Math.min(y, height - 1)) * width + Math.min(x, width - 1);
    data[to] = image.data[from * items + item]!;
  }
  return { ...size, data } as RgbImage | FloatImage as Image;
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
 * @throws VdError `shape` for data of another length than the sizes say, `attr` for options that do not fit
 */
export const clipPixelValues = pausable(function* (
  picture: RgbImage | FloatImage,
  options: ClipPixelOptions,
): Pausable<Float32Array> {
  if (isFloatImage(picture)) checkFloatImage(picture);
  else checkRgbImage(picture, where);
  checkOptions(options);
  const image = twoLines(picture);
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
