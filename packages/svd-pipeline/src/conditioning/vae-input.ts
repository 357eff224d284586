import { requireOptions, VdError } from "@vd/kernels-native";
import { checkPixels, type RgbImage, resizeLanczos, SIGNED_LEVELS } from "@vd/media";
import { type Pausable, pausable } from "@vd/tensor";

/** A picture as numbers: [C,H,W] with values in [0, 1], or in [-1, 1] if any is negative. */
export interface ImageTensor {
  readonly channels: number;
  readonly width: number;
  readonly height: number;
  readonly data: Float32Array;
}

/** [H,W,3] in 8 bits to [3,H,W] in [-1, 1]. */
function* toPlanes({ width, height, data }: RgbImage, into?: Float32Array): Pausable<Float32Array> {
  const area = width * height;
  const planes = into ?? new Float32Array(3 * area);
  for (let y = 0; y < height; y++) {
    for (let i = y * width; i < (y + 1) * width; i++) {
      planes[i] = SIGNED_LEVELS[data[3 * i]!]!;
      planes[area + i] = SIGNED_LEVELS[data[3 * i + 1]!]!;
      planes[2 * area + i] = SIGNED_LEVELS[data[3 * i + 2]!]!;
    }
    yield;
  }
  return planes;
}

/**
 * Returns the VAE's view of a picture: resized with Pillow's LANCZOS, in [-1, 1], [1,3,H,W]. Pauses after each row.
 * into: where to put the result, as long as it is. Source: huggingface/diffusers@58eb52c image_processor.py
 * `VaeImageProcessor.preprocess` of a PIL image.
 *
 * @throws VdError `shape` or `attr` for sizes below 1 and data of another length
 * @example
 * ```ts
 * import { loadImage, runInSlices, vaeInput } from "@vd/svd-pipeline";
 *
 * const image = await loadImage("start.png");
 * const pixels = await runInSlices(vaeInput.inPieces(image, 1024, 576)); // the event loop turns meanwhile
 * console.log(pixels.length === 3 * 576 * 1024); // true
 * ```
 */
export const vaeInput = pausable(function* (
  image: RgbImage,
  width: number,
  height: number,
  into?: Float32Array,
): Pausable<Float32Array> {
  const resized = yield* resizeLanczos.inPieces(image, width, height);
  return yield* toPlanes(resized, into);
});

/** Source index of each result index along one axis, by torch's nearest: floor in float32, no antialiasing. */
function nearestIndices(sourceSize: number, size: number): Int32Array {
  if (size === sourceSize) return Int32Array.from({ length: size }, (_, i) => i);
  if (size === 2 * sourceSize) return Int32Array.from({ length: size }, (_, i) => i >> 1);
  const scale = Math.fround(sourceSize / size);
  return Int32Array.from({ length: size }, (_, i) => Math.min(Math.floor(Math.fround(i * scale)), sourceSize - 1));
}

/**
 * Returns the VAE's view of a picture that is a tensor already, pausing after each row: [C,h,w] by nearest to [1,C,H,W], then from [0, 1] to [-1, 1],
 * unless a value is negative, which means that it is there already. into: where to put the result. Source: huggingface/diffusers@58eb52c
 * image_processor.py `VaeImageProcessor.preprocess` of a tensor.
 *
 * @throws VdError `shape` or `attr` for sizes that do not fit
 */
export const vaeInputFromTensor = pausable(function* (
  image: ImageTensor,
  width: number,
  height: number,
  into?: Float32Array,
): Pausable<Float32Array> {
  const where = "vae input";
  requireOptions(where, image);
  for (const name of ["channels", "width", "height"] as const) checkPixels(name, image[name], where);
  checkPixels("width", width, where);
  checkPixels("height", height, where);
  const sourceArea = image.width * image.height;
  if (image.data.length !== image.channels * sourceArea) {
    const expected = `${image.channels * sourceArea} values ([${image.channels},${image.height},${image.width}])`;
    throw new VdError({ code: "shape", where, expected, got: `${image.data.length}` });
  }
  const columns = nearestIndices(image.width, width);
  const rows = nearestIndices(image.height, height);
  const result = into ?? new Float32Array(image.channels * width * height);
  let at = 0;
  let least = 0;
  for (let channel = 0; channel < image.channels; channel++) {
    for (const row of rows) {
      const from = channel * sourceArea + row * image.width;
      for (const column of columns) {
        const value = image.data[from + column]!;
        if (value < least) least = value;
        result[at++] = value;
      }
      yield;
    }
  }
  if (least < 0) return result;
  for (let from = 0; from < result.length; from += width) {
    for (let i = from; i < from + width; i++) result[i] = Math.fround(2 * result[i]!) - 1;
    yield;
  }
  return result;
});
