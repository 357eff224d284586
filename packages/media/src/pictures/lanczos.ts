import { type Pausable, pausable } from "@vd/tensor";
import { checkPixels, checkRgbImage, type RgbImage } from "./rgb-image";

/** The window of the sinc, in source pixels on either side at equal size. */
const lobes = 3;
/** Weights are whole multiples of 2^-22: 32 bits less 8 for the result and 2 for overshoot. */
const precisionBits = 22;
const half = 1 << (precisionBits - 1);

/** Which source samples make each sample of the result, and with what weights. */
interface Taps {
  /** Room for weights per result sample. */
  maxCount: number;
  starts: Int32Array;
  counts: Int32Array;
  /** [result size, maxCount], in 2^-22. */
  weights: Int32Array;
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI);
}

function lanczos(x: number): number {
  return x >= -lobes && x < lobes ? sinc(x) * sinc(x / lobes) : 0;
}

/** Weights for one axis; shrinking widens the window, so that it averages (antialiasing). */
function lanczosTaps(sourceSize: number, size: number): Taps {
  const scale = sourceSize / size;
  const stretch = Math.max(scale, 1);
  const support = lobes * stretch;
  const maxCount = Math.ceil(support) * 2 + 1;
  const starts = new Int32Array(size);
  const counts = new Int32Array(size);
  const weights = new Int32Array(size * maxCount);
  const exact = new Float64Array(maxCount);
  const inverseStretch = 1 / stretch;
  for (let i = 0; i < size; i++) {
    const center = (i + 0.5) * scale;
    const start = Math.max(Math.trunc(center - support + 0.5), 0);
    const count = Math.min(Math.trunc(center + support + 0.5), sourceSize) - start;
    let sum = 0;
    for (let k = 0; k < count; k++) {
      exact[k] = lanczos((k + start - center + 0.5) * inverseStretch);
      sum += exact[k]!;
    }
    for (let k = 0; k < count; k++) {
      const scaled = (exact[k]! / sum) * (1 << precisionBits);
      weights[i * maxCount + k] = Math.trunc(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    }
    starts[i] = start;
    counts[i] = count;
  }
  return { maxCount, starts, counts, weights };
}

/** One row of the x pass: [sourceW,3] at `from` of `source` to [W,3] at `to` of `result`. */
function resizeRow(source: Uint8Array, from: number, result: Uint8ClampedArray, to: number, taps: Taps): void {
  const { starts, counts, weights, maxCount } = taps;
  for (let x = 0; x < starts.length; x++) {
    let red = half;
    let green = half;
    let blue = half;
    let pixel = from + starts[x]! * 3;
    const first = x * maxCount;
    const last = first + counts[x]!;
    for (let k = first; k < last; k++) {
      const weight = weights[k]!;
      red += Math.imul(source[pixel]!, weight);
      green += Math.imul(source[pixel + 1]!, weight);
      blue += Math.imul(source[pixel + 2]!, weight);
      pixel += 3;
    }
    const at = to + x * 3;
    result[at] = red >> precisionBits;
    result[at + 1] = green >> precisionBits;
    result[at + 2] = blue >> precisionBits;
  }
}

function* resizeWidth(image: RgbImage, width: number): Pausable<RgbImage> {
  const taps = lanczosTaps(image.width, width);
  const result = new Uint8ClampedArray(image.height * width * 3);
  for (let y = 0; y < image.height; y++) {
    resizeRow(image.data, y * image.width * 3, result, y * width * 3, taps);
    yield;
  }
  return { width, height: image.height, data: new Uint8Array(result.buffer) };
}

function addRow(sums: Int32Array, source: Uint8Array, from: number, weight: number): void {
  for (let i = 0; i < sums.length; i++) sums[i] = sums[i]! + Math.imul(source[from + i]!, weight);
}

function* resizeHeight(image: RgbImage, height: number): Pausable<RgbImage> {
  const { starts, counts, weights, maxCount } = lanczosTaps(image.height, height);
  const rowLength = image.width * 3;
  const result = new Uint8ClampedArray(height * rowLength);
  const sums = new Int32Array(rowLength);
  for (let y = 0; y < height; y++) {
    sums.fill(half);
    for (let k = 0; k < counts[y]!; k++) {
      addRow(sums, image.data, (starts[y]! + k) * rowLength, weights[y * maxCount + k]!);
    }
    for (let i = 0; i < rowLength; i++) result[y * rowLength + i] = sums[i]! >> precisionBits;
    yield;
  }
  return { width: image.width, height, data: new Uint8Array(result.buffer) };
}

/**
 * Resizes `image` to [height,width,3] as Pillow's LANCZOS does, bit for bit: weights in 22-bit fixed point, the x pass
 * before the y pass, each rounded to 8 bits. Pauses after each row. Source: python-pillow/Pillow@4e5f09f
 * src/libImaging/Resample.c.
 *
 * @throws VdError `shape` or `attr` for sizes below 1 and data of another length
 */
export const resizeLanczos = pausable(function* (image: RgbImage, width: number, height: number): Pausable<RgbImage> {
  checkRgbImage(image, "resize");
  checkPixels("width", width, "resize");
  checkPixels("height", height, "resize");
  // Pillow shrinks a picture over a hundred times as high as wide by its height first; rounding in between shows it.
  const heightFirst = image.height > image.width * 100 && height < image.height;
  let result = image;
  if (heightFirst) result = yield* resizeHeight(result, height);
  if (result.width !== width) result = yield* resizeWidth(result, width);
  if (result.height !== height) result = yield* resizeHeight(result, height);
  return result === image ? { width, height, data: image.data.slice() } : result;
});
