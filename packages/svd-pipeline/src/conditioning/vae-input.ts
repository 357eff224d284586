import { type PlaneOptions, pictureToPlanes, requireOptions, throwIfAborted, VdError } from "@vd/kernels-native";
import { checkPixels, checkRgbImage, type PictureWork, type RgbImage, resizeLanczos, SIGNED_LEVELS } from "@vd/media";
import { type Pausable, pausable } from "@vd/tensor";

/** A picture as numbers: [C,H,W] with values in [0, 1], or in [-1, 1] if any is negative. */
export interface ImageTensor {
  readonly channels: number;
  readonly width: number;
  readonly height: number;
  readonly data: Float32Array;
}

/** How {@link vaeInput} works. */
export interface VaeInputOptions extends PictureWork, Pick<PlaneOptions, "into" | "adds"> {}

/**
 * Returns a picture of 8 bits at width×height, resized with Pillow's LANCZOS; itself if it has that size.
 *
 * @throws VdError as `resizeLanczos`
 */
export async function sizedPicture(
  image: RgbImage,
  width: number,
  height: number,
  work: PictureWork = {},
): Promise<RgbImage> {
  checkRgbImage(image, "vae input");
  return image.width === width && image.height === height ? image : resizeLanczos(image, width, height, work);
}

/** Returns a picture's pixels in [-1, 1], [3,H,W]; see {@link vaeInput}. */
export async function signedPlanes({ data }: RgbImage, options: VaeInputOptions = {}): Promise<Float32Array> {
  const { signal, where = "vae input", into, adds } = options;
  throwIfAborted(signal, where);
  const planes = await pictureToPlanes(data, SIGNED_LEVELS, { into, adds });
  throwIfAborted(signal, where);
  return planes;
}

/**
 * Returns the VAE's view of a picture: resized with Pillow's LANCZOS, in [-1, 1], [1,3,H,W]. Worker threads make it. options: `into` is where
 * the numbers go, `adds` adds them to what is there. Source: huggingface/diffusers@58eb52c image_processor.py
 * `VaeImageProcessor.preprocess` of a PIL image.
 *
 * @throws VdError `shape` or `attr` for sizes below 1, data of another length and arrays that do not fit, `cancelled`
 * @example
 * ```ts
 * import { loadImage, vaeInput } from "@vd/svd-pipeline";
 *
 * const image = await loadImage("start.png");
 * const pixels = await vaeInput(image, 1024, 576); // the event loop turns meanwhile
 * console.log(pixels.length === 3 * 576 * 1024); // true
 * ```
 */
export async function vaeInput(
  image: RgbImage,
  width: number,
  height: number,
  options: VaeInputOptions = {},
): Promise<Float32Array> {
  requireOptions("vae input", options);
  const { signal, where = "vae input" } = options;
  return signedPlanes(await sizedPicture(image, width, height, { signal, where }), options);
}

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
