import { sharedFloats } from "@vd/kernels-native";
import { expect, test } from "vitest";
import { maxDifference, noiseImage, openFixture, storedImage } from "../../../../tooling/testing/pictures";
import { vaeInput, vaeInputFromTensor } from "../../src/conditioning/vae-input";

test("the stored VAE inputs are met exactly", async () => {
  using run = openFixture("tiny-svd/goldens.safetensors");
  expect(await vaeInput(storedImage(run, "image_u8"), 128, 128)).toEqual(run.readFloat32("vae.image"));
  expect(await vaeInput(storedImage(run, "resize.image_u8"), 128, 128)).toEqual(run.readFloat32("resize.vae_image"));
  using file = openFixture("preprocess/preprocess.safetensors");
  expect(await vaeInput(storedImage(file, "in.small.rgb"), 96, 64)).toEqual(file.readFloat32("out.small.vae_input"));
});

test("a picture goes where it shall, or is added to what is there in float32", async () => {
  const image = noiseImage(31, 23);
  for (const [width, height] of [[31, 23] as const, [40, 16] as const]) {
    const wanted = await vaeInput(image, width, height);
    const into = sharedFloats(wanted.length);
    expect(await vaeInput(image, width, height, { into })).toBe(into);
    expect(into).toEqual(wanted);
    const noise = Float32Array.from(wanted, (_, i) => Math.sin(i) / 3);
    into.set(noise);
    expect(await vaeInput(image, width, height, { into, adds: true })).toBe(into);
    expect(into).toEqual(noise.map((value, i) => value + wanted[i]!));
  }
});

test("pictures and arrays that do not fit are refused, and so is what a signal ended", async () => {
  const image = noiseImage(9, 8);
  const refused = (...args: Parameters<typeof vaeInput>) => expect(vaeInput(...args)).rejects;
  await refused({ ...image, width: 8 }, 9, 8).toMatchObject({ code: "shape" });
  await refused(image, 9, 8, { into: new Float32Array(9) }).toMatchObject({ code: "shape" });
  await refused(image, 9, 8, { adds: true }).toMatchObject({ code: "attr" });
  await refused(image, 0, 8).toMatchObject({ code: "attr" });
  const cancelled = { code: "cancelled", where: "generation" };
  for (const size of [9, 10])
    await refused(image, size, 8, { signal: AbortSignal.abort(), where: "generation" }).toMatchObject(cancelled);
});

test("a tensor goes by nearest, as stored", () => {
  using file = openFixture("preprocess/preprocess.safetensors");
  const { width, height, data } = storedImage(file, "in.small.rgb");
  const area = width * height;
  const planes = Float32Array.from({ length: 3 * area }, (_, i) => data[(i % area) * 3 + Math.floor(i / area)]! / 255);
  const ours = vaeInputFromTensor({ channels: 3, width, height, data: planes }, 64, 40);
  expect(maxDifference(ours, file.readFloat32("out.small.tensor_input"))).toBeLessThan(1e-7);
});

test("nearest takes the pixel at floor(i · source/size) in float32", () => {
  const ramp = (width: number) => ({
    channels: 1,
    width,
    height: 1,
    data: Float32Array.from({ length: width }, (_, i) => i),
  });
  const picked = (from: number, to: number) =>
    [...vaeInputFromTensor(ramp(from), to, 1)].map((value) => (value + 1) / 2);
  expect(picked(4, 8)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  expect(picked(5, 3)).toEqual([0, 1, 3]);
  expect(picked(3, 5)).toEqual([0, 0, 1, 1, 2]);
  expect(picked(3, 3)).toEqual([0, 1, 2]);
  // 31 · (29/31) is 29 in real numbers; in float32 the factor falls just short or over, and the index is kept inside.
  expect(picked(29, 31).at(-1)).toBe(Math.floor(Math.fround(30 * Math.fround(29 / 31))));
});

test("a tensor with negative values is in [-1, 1] already", () => {
  const image = { channels: 1, width: 2, height: 1, data: Float32Array.of(-0.5, 1) };
  expect([...vaeInputFromTensor(image, 2, 1)]).toEqual([-0.5, 1]);
  expect([...vaeInputFromTensor({ ...image, data: Float32Array.of(0, 1) }, 2, 1)]).toEqual([-1, 1]);
});

test("what does not fit is refused with words", () => {
  const image = { channels: 3, width: 2, height: 2, data: new Float32Array(11) };
  expect(() => vaeInputFromTensor(image, 2, 2)).toThrow("[vae input] expected 12 values ([3,2,2]), got 11");
  expect(() => vaeInputFromTensor({ ...image, width: 0 }, 2, 2)).toThrow("width as a whole number");
});
