import type { RgbImage } from "@vd/media";
import { cubicTaps, gaussianKernel } from "@vd/media";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { maxDifference, noiseImage, openFixture, storedImage } from "../../../../tooling/testing/pictures";
import { type ClipPixelOptions, clipPixelValues } from "../../src/conditioning/clip-pixel-values";

const published: ClipPixelOptions = {
  size: 224,
  mean: [0.48145466, 0.4578275, 0.40821073],
  std: [0.26862954, 0.26130258, 0.27577711],
};

/** Far inside the fixtures' 2e-4: what float32 rounding explains. */
const tolerance = 1e-5;

test("the pipeline's picture and the larger one are met", async () => {
  using file = openFixture("tiny-svd/goldens.safetensors");
  for (const prefix of ["", "resize."]) {
    const ours = await clipPixelValues(storedImage(file, `${prefix}image_u8`), published);
    const name = prefix === "" ? "clip.pixel_values" : "resize.clip_pixel_values";
    expect(maxDifference(ours, file.readFloat64(name)), name).toBeLessThan(tolerance);
  }
});

test.each(["small", "large", "mixed"])("fixture picture %s: kernels exact, pixels within rounding", async (name) => {
  using file = openFixture("preprocess/preprocess.safetensors");
  const image = storedImage(file, `in.${name}.rgb`);
  expect(gaussianKernel(image.width, 224)).toEqual(file.readFloat32(`out.${name}.kernel_x`));
  expect(gaussianKernel(image.height, 224)).toEqual(file.readFloat32(`out.${name}.kernel_y`));
  const golden = file.readFloat64(`out.${name}.pixel_values`);
  const ours = await clipPixelValues(image, published);
  expect(maxDifference(ours.subarray(0, golden.length), golden)).toBeLessThan(tolerance);
});

/** The same by the formula alone: the whole picture blurred in float64, then every result pixel from 16 of it. */
function plainPixelValues(image: RgbImage, { size, mean, std }: ClipPixelOptions): Float64Array {
  const { width, height, data } = image;
  const mirror = (i: number, n: number) => (i < 0 ? -i : i >= n ? 2 * n - 2 - i : i);
  const kernelX = gaussianKernel(width, size);
  const kernelY = gaussianKernel(height, size);
  const result = new Float64Array(3 * size * size);
  const tapsX = cubicTaps(width, size);
  const tapsY = cubicTaps(height, size);
  for (let channel = 0; channel < 3; channel++) {
    const at = (x: number, y: number) =>
      (data[(mirror(y, height) * width + mirror(x, width)) * 3 + channel]! / 255) * 2 - 1;
    const blurred = (x: number, y: number) => {
      let sum = 0;
      for (const [j, wy] of kernelY.entries()) {
        for (const [i, wx] of kernelX.entries()) {
          sum += wx * wy * at(x + i - (kernelX.length >> 1), y + j - (kernelY.length >> 1));
        }
      }
      return sum;
    };
    for (let i = 0; i < size * size; i++) {
      const [column, row] = [i % size, Math.floor(i / size)];
      let value = 0;
      for (let k = 0; k < 16; k++) {
        const [x, y] = [column * 4 + (k % 4), row * 4 + (k >> 2)];
        value += tapsX.weights[x]! * tapsY.weights[y]! * blurred(tapsX.indices[x]!, tapsY.indices[y]!);
      }
      result[channel * size * size + i] = ((value + 1) / 2 - mean[channel]!) / std[channel]!;
    }
  }
  return result;
}

test("any size, shrunk or enlarged, gives what the plain formula gives", async () => {
  const side = fc.integer({ min: 2, max: 40 });
  const sizes = fc.asyncProperty(side, side, fc.integer({ min: 1, max: 12 }), async (width, height, size) => {
    const image = noiseImage(width, height);
    const options = { ...published, size };
    const ours = await clipPixelValues(image, options);
    expect(maxDifference(ours, plainPixelValues(image, options))).toBeLessThan(tolerance);
  });
  await fc.assert(sizes, {
    seed: 20265,
    numRuns: 60,
    examples: [
      [2, 2, 1],
      [3, 2, 12],
      [40, 2, 3],
    ],
  });
});

test("the blur widens with the picture: 4σ, odd, at least 3", () => {
  const lengths = [100, 224, 560, 561, 672, 700, 1024, 4000].map((size) => gaussianKernel(size, 224).length);
  expect(lengths).toEqual([3, 3, 3, 3, 5, 5, 7, 33]);
  for (const size of [100, 1024, 4000]) {
    expect(gaussianKernel(size, 224).reduce((a, b) => a + b)).toBeCloseTo(1, 6);
  }
});

test("what does not fit is refused with words", async () => {
  const refused = (...args: Parameters<typeof clipPixelValues>) => expect(clipPixelValues(...args)).rejects;
  await refused(noiseImage(9, 9), { ...published, size: 0 }).toThrow("size as a whole number");
  await refused(noiseImage(9, 9), { ...published, std: [1] }).toThrow("std as three numbers");
});

test("a signal ends it before it begins and while it is under way, also for sizes that it has met", async () => {
  const image = noiseImage(300, 200);
  const isEnded = async () => {
    const early = clipPixelValues(image, published, { signal: AbortSignal.abort(), where: "generation" });
    await expect(early).rejects.toMatchObject({ code: "cancelled", where: "generation" });
    const controller = new AbortController();
    const late = clipPixelValues(image, published, { signal: controller.signal });
    // Workers may be at it by then, but nobody has heard of their end without a turn of the event loop.
    for (let step = 0; step < 50; step++) await Promise.resolve();
    controller.abort();
    await expect(late).rejects.toMatchObject({ code: "cancelled", where: "clip input" });
  };
  await isEnded();
  await clipPixelValues(image, published);
  await isEnded();
});

test.each([
  [1, 1],
  [1, 9],
  [9, 1],
])("a picture of %i×%i is seen as what it is with each line twice", async (width, height) => {
  const { data } = noiseImage(width, height);
  const repeated = (across: number, down: number) => {
    const pixels = Array.from({ length: height * down }, (_, y) =>
      Array.from({ length: width * across }, (_, x) => {
        const from = 3 * (Math.floor(y / down) * width + Math.floor(x / across));
        return [...data.subarray(from, from + 3)];
      }),
    );
    return { width: width * across, height: height * down, data: Uint8Array.from(pixels.flat(2)) };
  };
  const seen = await clipPixelValues({ width, height, data }, published);
  expect(seen).toEqual(await clipPixelValues(repeated(width === 1 ? 2 : 1, height === 1 ? 2 : 1), published));
  const planes = Float32Array.from({ length: data.length }, (_, i) => {
    const [plane, pixel] = [Math.floor(i / (width * height)), i % (width * height)];
    return data[3 * pixel + plane]! / 255;
  });
  const floats = await clipPixelValues({ width, height, data: planes }, published);
  expect(maxDifference(floats, seen)).toBeLessThan(tolerance);
});
