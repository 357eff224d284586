import { expect, test } from "vitest";
import { noiseImage } from "../../../../tooling/testing/pictures";
import { blurredRuns, cubicTaps, resample, type SampleRuns, SIGNED_LEVELS } from "../../src/index";

const IDENTITY = Float32Array.of(0, 1, 0);
const kept = (size: number) => blurredRuns(IDENTITY, cubicTaps(size, size), size);

/** Each sample the sum of two that lie beside each other. */
const pairs = (size: number): SampleRuns => ({
  first: Int32Array.from({ length: size - 1 }, (_, i) => i),
  length: 2,
  weights: new Float64Array(2 * (size - 1)).fill(1),
});

test("a picture that nothing changes comes out in [-1, 1]", async () => {
  const image = noiseImage(7, 5);
  const same = await resample(image, { x: kept(7), y: kept(5) });
  expect(same).toEqual(Float32Array.from(image.data, (level) => SIGNED_LEVELS[level]!));
});

test("sums run along x, then along y, for each channel", async () => {
  const { width, height, data } = noiseImage(6, 4);
  const at = (x: number, y: number, c: number) => SIGNED_LEVELS[data[(y * width + x) * 3 + c]!]!;
  const sums = await resample({ width, height, data }, { x: pairs(width), y: pairs(height) });
  expect(sums.length).toBe((width - 1) * (height - 1) * 3);
  for (let y = 0; y + 1 < height; y++)
    for (let x = 0; x + 1 < width; x++)
      for (let c = 0; c < 3; c++) {
        const four = at(x, y, c) + at(x + 1, y, c) + at(x, y + 1, c) + at(x + 1, y + 1, c);
        expect(sums[(y * (width - 1) + x) * 3 + c]).toBeCloseTo(four, 6);
      }
});

test("planes of floats give what pixels of bytes give", async () => {
  const { width, height, data } = noiseImage(9, 8);
  const area = width * height;
  const planes = Float32Array.from(data, (_, i) => data[(i % area) * 3 + Math.floor(i / area)]! / 255);
  const runs = { x: pairs(width), y: pairs(height) };
  expect(await resample({ width, height, data: planes }, runs)).toEqual(await resample({ width, height, data }, runs));
});

test("a normalisation makes planes", async () => {
  const image = noiseImage(7, 5);
  const normalisation = { mean: [0.5, 0, 0.25], spread: [1, 2, 4] };
  const planes = await resample(image, { x: kept(7), y: kept(5) }, { normalisation });
  expect(planes.length).toBe(3 * 35);
  for (const [i, value] of planes.entries()) {
    const channel = Math.floor(i / 35);
    const unit = image.data[3 * (i % 35) + channel]! / 255;
    expect(value).toBeCloseTo((unit - normalisation.mean[channel]!) / normalisation.spread[channel]!, 6);
  }
});

test("what does not fit is refused, and so is what a signal ended", async () => {
  const image = noiseImage(6, 4);
  const runs = { x: pairs(6), y: pairs(4) };
  const refused = (...args: Parameters<typeof resample>) => expect(resample(...args)).rejects;
  await refused({ ...image, width: 5 }, runs).toMatchObject({ code: "layout" });
  await refused({ ...image, height: 5 }, runs).toMatchObject({ code: "shape" });
  await refused(image, { ...runs, y: { ...pairs(4), length: 3 } }).toMatchObject({ code: "shape" });
  const normalisation = { mean: [0, 0, 0], spread: [1] };
  await refused(image, runs, { normalisation }).toMatchObject({ code: "attr" });
  const signal = AbortSignal.abort();
  await refused(image, runs, { signal, where: "clip" }).toMatchObject({ code: "cancelled", where: "clip" });
});
