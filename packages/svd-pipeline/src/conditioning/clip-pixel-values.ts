import { requireOptions, VdError } from "@vd/kernels-native";
import {
  blurredRuns,
  checkPixels,
  checkRgbImage,
  cubicTaps,
  type FloatImage,
  gaussianKernel,
  type PictureWork,
  type RgbImage,
  resample,
  type SampleRuns,
} from "@vd/media";
import { type Pausable, runInSlices } from "@vd/tensor";
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

/** From [-1, 1] to [0, 1] and to the encoder's mean and spread, each operation rounded to float32. */
function normalise(value: number, mean: number, std: number): number {
  const { fround } = Math;
  return fround(fround(fround(value) + 1) / 2 - mean) / std;
}

/** Row `y` of [size,size,3] into planes [3,size,size], normalised. */
function finishRow(pixels: Float32Array, y: number, { size, mean, std }: ClipPixelOptions, result: Float32Array): void {
  for (let channel = 0; channel < 3; channel++) {
    const channelMean = Math.fround(mean[channel]!);
    const channelStd = Math.fround(std[channel]!);
    const [from, to] = [y * size * 3 + channel, (channel * size + y) * size];
    for (let x = 0; x < size; x++) result[to + x] = normalise(pixels[from + 3 * x]!, channelMean, channelStd);
  }
}

/** What makes each column and each row of the result. Pauses in between. */
function* runsOf(image: RgbImage | FloatImage, size: number): Pausable<{ x: SampleRuns; y: SampleRuns }> {
  const runs = (sourceSize: number) =>
    blurredRuns(gaussianKernel(sourceSize, size), cubicTaps(sourceSize, size), sourceSize);
  const x = runs(image.width);
  yield;
  return { x, y: runs(image.height) };
}

/** [size,size,3] as planes [3,size,size], normalised. Pauses after each row. */
function* normalisedPlanes(pixels: Float32Array, options: ClipPixelOptions): Pausable<Float32Array> {
  const { size } = options;
  const result = new Float32Array(3 * size * size);
  for (let row = 0; row < size; row++) {
    finishRow(pixels, row, options, result);
    yield;
  }
  return result;
}

/**
 * Returns the image encoder's view of a picture, [1,3,size,size]: in [-1, 1], blurred against aliasing, resized by a
 * cubic (A = −0.75) with aligned corners and no clamp, back to [0, 1], less the mean, over the spread. Worker threads blur and resize; the
 * event loop turns meanwhile. Source: huggingface/diffusers@58eb52c pipelines/stable_video_diffusion/pipeline_stable_video_diffusion.py
 * `_encode_image`, `_resize_with_antialiasing`.
 *
 * @throws VdError `shape` for data of another length than the sizes say, `attr` for options that do not fit, `cancelled`
 */
export async function clipPixelValues(
  picture: RgbImage | FloatImage,
  options: ClipPixelOptions,
  work: PictureWork = {},
): Promise<Float32Array> {
  if (isFloatImage(picture)) checkFloatImage(picture);
  else checkRgbImage(picture, where);
  checkOptions(options);
  requireOptions(where, work);
  const slices = { signal: work.signal, where: work.where ?? where };
  const image = twoLines(picture);
  const runs = await runInSlices(runsOf(image, options.size), slices);
  const pixels = await resample(image, runs, slices);
  return runInSlices(normalisedPlanes(pixels, options), slices);
}
