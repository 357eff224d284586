import { COUNT, FLOATS_32, requireArgument, requireFields, type WantedFields } from "@vd/kernels-native";
import type { Pausable } from "@vd/tensor";
import { POSITIONS } from "./bicubic";
import { ANY_IMAGE, type FloatImage, type RgbImage } from "./rgb-image";
import { SIGNED_LEVELS } from "./signed-levels";

const KERNELS: WantedFields = { x: FLOATS_32, y: FLOATS_32 };

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

/** Position within [0, size) of an index up to size − 1 outside, mirrored at the border pixels' centres. */
function reflect(index: number, size: number): number {
  const positive = Math.abs(index);
  return positive < size ? positive : 2 * (size - 1) - positive;
}

/**
 * Rows of a picture, blurred along x and then along y with reflected borders, where they are needed: at the given
 * columns only, row by row on request, keeping just the x-blurred rows that the next rows may share.
 */
export class BlurredRows {
  readonly #image: RgbImage | FloatImage;
  readonly #columns: Int32Array;
  readonly #kernelX: Float32Array;
  readonly #kernelY: Float32Array;
  /** One source row in [-1, 1] with its reflected borders, [W + 2·radius, 3]. */
  readonly #padded: Float32Array;
  /** x-blurred rows, [columns, 3] each; source row y lies in slot y mod the number of slots. */
  readonly #slots: Float32Array[];
  readonly #slotRows: Int32Array;

  /** Requires kernels shorter than twice the picture's size along their axis, and columns inside the picture.
   *  @throws VdError `attr` for what are no picture, no kernels or no columns */
  constructor(image: RgbImage | FloatImage, kernels: { x: Float32Array; y: Float32Array }, columns: Int32Array) {
    requireFields("BlurredRows image", image, ANY_IMAGE);
    requireFields("BlurredRows kernels", kernels, KERNELS);
    requireArgument("BlurredRows columns", columns, POSITIONS);
    this.#image = image;
    this.#columns = columns;
    this.#kernelX = kernels.x;
    this.#kernelY = kernels.y;
    this.#padded = new Float32Array((image.width + kernels.x.length - 1) * 3);
    this.#slots = Array.from(kernels.y, () => new Float32Array(columns.length * 3));
    this.#slotRows = new Int32Array(kernels.y.length).fill(-1);
  }

  /** Writes row `y`, [columns, 3], to `result`, pausing twice at each row of the source. Fastest when rows are asked for
   *  from the top. */
  *row(y: number, result: Float32Array): Pausable<void> {
    const kernel = this.#kernelY;
    const radius = kernel.length >> 1;
    result.fill(0);
    for (let k = 0; k < kernel.length; k++) {
      const weight = kernel[k]!;
      const source = yield* this.#blurredAlongX(reflect(y + k - radius, this.#image.height));
      if (weight !== 0) addScaled(result, source, weight);
      yield;
    }
  }

  *#blurredAlongX(y: number): Pausable<Float32Array> {
    const slot = y % this.#slots.length;
    const row = this.#slots[slot]!;
    if (this.#slotRows[slot] === y) return row;
    this.#slotRows[slot] = y;
    this.#padRow(y);
    yield;
    convolveRow(this.#padded, this.#kernelX, this.#columns, row);
    return row;
  }

  #padRow(y: number): void {
    const { width } = this.#image;
    const radius = this.#kernelX.length >> 1;
    const padded = this.#padded;
    copySigned(this.#image, y, padded.subarray(radius * 3, (radius + width) * 3));
    for (let i = 1; i <= radius; i++) {
      for (const column of [-i, width - 1 + i]) {
        const mirrored = (radius + reflect(column, width)) * 3;
        padded.copyWithin((radius + column) * 3, mirrored, mirrored + 3);
      }
    }
  }
}

/** Row `y` of a picture in [-1, 1], [W,3], to `row`. */
function copySigned({ width, height, data }: RgbImage | FloatImage, y: number, row: Float32Array): void {
  if (data instanceof Uint8Array) {
    for (let i = 0; i < width * 3; i++) row[i] = SIGNED_LEVELS[data[y * width * 3 + i]!]!;
    return;
  }
  for (let channel = 0; channel < 3; channel++) {
    const from = (channel * height + y) * width;
    for (let x = 0; x < width; x++) row[3 * x + channel] = Math.fround(2 * data[from + x]!) - 1;
  }
}

/** result + weight · row, in place. */
function addScaled(result: Float32Array, row: Float32Array, weight: number): void {
  for (let i = 0; i < result.length; i++) result[i] = result[i]! + weight * row[i]!;
}

function convolveRow(padded: Float32Array, kernel: Float32Array, columns: Int32Array, result: Float32Array): void {
  for (let c = 0; c < columns.length; c++) {
    let red = 0;
    let green = 0;
    let blue = 0;
    let at = columns[c]! * 3;
    for (let k = 0; k < kernel.length; k++) {
      const weight = kernel[k]!;
      red += weight * padded[at]!;
      green += weight * padded[at + 1]!;
      blue += weight * padded[at + 2]!;
      at += 3;
    }
    result[c * 3] = red;
    result[c * 3 + 1] = green;
    result[c * 3 + 2] = blue;
  }
}
