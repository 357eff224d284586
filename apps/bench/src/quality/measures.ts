import type { GeneratedVideo } from "@vd/svd-pipeline";

/** Frames in 8 bits and their sizes. */
export type Frames = Pick<GeneratedVideo, "width" | "height" | "numFrames" | "data">;

/** Returns the peak signal-to-noise ratio of frames in 8 bits, in dB; infinite for the same bytes. */
export function psnr(a: Uint8Array, b: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return 10 * Math.log10((255 ** 2 * a.length) / sum);
}

/** Side of the window, and the constants that keep divisions stable. Source: Z. Wang et al., Image Quality Assessment: From Error
 *  Visibility to Structural Similarity (2004), section III B; a uniform window of 7 as scikit-image takes by default. */
const WINDOW = 7;
const [C1, C2] = [(0.01 * 255) ** 2, (0.03 * 255) ** 2];

/** Brightness of each pixel: ITU-R BT.601. */
function brightness(data: Uint8Array): Float64Array {
  return Float64Array.from(
    { length: data.length / 3 },
    (_, i) => 0.299 * data[3 * i]! + 0.587 * data[3 * i + 1]! + 0.114 * data[3 * i + 2]!,
  );
}

/** Sums over rectangles from the origin: [height+1, width+1]. */
function integral(values: Float64Array, width: number, height: number): Float64Array {
  const sums = new Float64Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y++) {
    let row = 0;
    for (let x = 0; x < width; x++) {
      row += values[y * width + x]!;
      sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1]! + row;
    }
  }
  return sums;
}

/** Returns the sum over a window from a table of {@link integral}. at: its first corner; right, below: how far the others are in the table. */
const windowSum = (table: Float64Array, at: number, right: number, below: number): number =>
  table[at + below + right]! - table[at + right]! - table[at + below]! + table[at]!;

/** Structural similarity of two grey pictures: the mean over all windows. Without an array for each window: a full-size clip has 15 million. */
function ssimOfPicture(a: Float64Array, b: Float64Array, width: number, height: number): number {
  const side = Math.min(WINDOW, width, height);
  const product = (p: Float64Array, q: Float64Array) => p.map((value, i) => value * q[i]!);
  const [tableA, tableB, tableAA, tableBB, tableAB] = [a, b, product(a, a), product(b, b), product(a, b)].map((each) =>
    integral(each, width, height),
  ) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  const [stride, below, area] = [width + 1, side * (width + 1), side ** 2];
  let sum = 0;
  for (let y = 0; y + side <= height; y++)
    for (let x = 0; x + side <= width; x++) {
      const at = y * stride + x;
      const ma = windowSum(tableA, at, side, below) / area;
      const mb = windowSum(tableB, at, side, below) / area;
      const varianceA = windowSum(tableAA, at, side, below) / area - ma * ma;
      const varianceB = windowSum(tableBB, at, side, below) / area - mb * mb;
      const covariance = windowSum(tableAB, at, side, below) / area - ma * mb;
      sum += ((2 * ma * mb + C1) * (2 * covariance + C2)) / ((ma * ma + mb * mb + C1) * (varianceA + varianceB + C2));
    }
  return sum / ((width - side + 1) * (height - side + 1));
}

/** Returns the structural similarity (SSIM) of two videos' brightness, the mean over frames; 1 for the same bytes. */
export function ssim(a: Frames, b: Frames): number {
  const { width, height, numFrames } = a;
  const [greyA, greyB] = [brightness(a.data), brightness(b.data)];
  const area = width * height;
  let sum = 0;
  for (let f = 0; f < numFrames; f++) {
    const [frameA, frameB] = [greyA, greyB].map((grey) => grey.subarray(f * area, (f + 1) * area));
    sum += ssimOfPicture(frameA!, frameB!, width, height);
  }
  return sum / numFrames;
}

/** Returns how far numbers are from wanted ones: the length of the difference over that of the wanted ones. */
export function relativeDistance(got: Float32Array, wanted: Float32Array): number {
  let [difference, length] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    difference += (got[i]! - wanted[i]!) ** 2;
    length += wanted[i]! ** 2;
  }
  return Math.sqrt(difference / length);
}
