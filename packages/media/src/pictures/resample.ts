import { requireFields } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";
import { ANY_IMAGE, type FloatImage, type RgbImage } from "./rgb-image";
import { SAMPLE_RUNS, type SampleRuns } from "./sample-runs";
import { SIGNED_LEVELS } from "./signed-levels";

/** Row `y` of a picture in [-1, 1], [W,3], to `row`. */
function copySigned({ width, height, data }: RgbImage | FloatImage, y: number, row: Float32Array): void {
  if (data instanceof Uint8Array) {
    const from = y * width * 3;
    for (let i = 0; i < width * 3; i++) row[i] = SIGNED_LEVELS[data[from + i]!]!;
    return;
  }
  for (let channel = 0; channel < 3; channel++) {
    const from = (channel * height + y) * width;
    for (let x = 0; x < width; x++) row[3 * x + channel] = Math.fround(2 * data[from + x]!) - 1;
  }
}

/** Along x: [W,3] to [size,3] at `to` of `result`. */
function resampleRow(
  row: Float32Array,
  { first, length, weights }: SampleRuns,
  result: Float32Array,
  to: number,
): void {
  for (let x = 0; x < first.length; x++) {
    let red = 0;
    let green = 0;
    let blue = 0;
    let at = first[x]! * 3;
    for (let k = x * length; k < (x + 1) * length; k++) {
      const weight = weights[k]!;
      red += weight * row[at]!;
      green += weight * row[at + 1]!;
      blue += weight * row[at + 2]!;
      at += 3;
    }
    result[to + 3 * x] = red;
    result[to + 3 * x + 1] = green;
    result[to + 3 * x + 2] = blue;
  }
}

/** Along y: row `y` of the result from rows of so many numbers, to `sums`. */
function joinRows(rows: Float32Array, { first, length, weights }: SampleRuns, y: number, sums: Float64Array): void {
  sums.fill(0);
  for (let k = 0; k < length; k++) {
    const weight = weights[y * length + k]!;
    const from = (first[y]! + k) * sums.length;
    for (let i = 0; i < sums.length; i++) sums[i] = sums[i]! + weight * rows[from + i]!;
  }
}

/**
 * Returns a picture's numbers in [-1, 1], resampled along x and then along y, [rows,columns,3]. Pauses after each row.
 *
 * @throws VdError `attr` for what are no picture or no runs
 */
export const resample = pausable(function* (
  image: RgbImage | FloatImage,
  runs: { x: SampleRuns; y: SampleRuns },
): Pausable<Float32Array> {
  requireFields("resample image", image, ANY_IMAGE);
  requireFields("resample runs", runs, {});
  requireFields("resample x", runs.x, SAMPLE_RUNS);
  requireFields("resample y", runs.y, SAMPLE_RUNS);
  const { x, y } = runs;
  const numbers = x.first.length * 3;
  const row = new Float32Array(image.width * 3);
  const narrow = new Float32Array(image.height * numbers);
  for (let i = 0; i < image.height; i++) {
    copySigned(image, i, row);
    resampleRow(row, x, narrow, i * numbers);
    yield;
  }
  const sums = new Float64Array(numbers);
  const result = new Float32Array(y.first.length * numbers);
  for (let i = 0; i < y.first.length; i++) {
    joinRows(narrow, y, i, sums);
    result.set(sums, i * numbers);
    yield;
  }
  return result;
});
