import { expect, test } from "vitest";
import { noiseImage } from "../../../../tooling/testing/pictures";
import { resizeLanczos } from "../../src/pictures/lanczos";
import { steadyPixels } from "../../src/pictures/steady-pixels";

const [width, height] = [1201, 701];
const many = () => Uint8Array.from({ length: 3 * width * height }, (_, i) => i % 251);

test("few pixels and those in shared memory are left where they are", async () => {
  const shared = new Uint8Array(new SharedArrayBuffer(3 * width * height));
  for (const each of [noiseImage(30, 20).data, shared]) expect(await steadyPixels(each)).toBe(each);
});

test("many are copied to shared memory, also where they are part of an array, or floats", async () => {
  const data = many();
  const part = new Uint8Array(data.length + 5);
  part.set(data, 5);
  for (const each of [data, part.subarray(5), Buffer.from(data), Float32Array.from(data)]) {
    const steady = await steadyPixels<Uint8Array | Float32Array>(each);
    expect(steady.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(steady.length).toBe(data.length);
    expect(steady.every((value, i) => value === data[i])).toBe(true);
  }
  expect(await steadyPixels(Float32Array.from(data))).toBeInstanceOf(Float32Array);
});

test("pixels that are taken away meanwhile are refused", async () => {
  for (const work of [steadyPixels, (data: Uint8Array) => resizeLanczos({ width, height, data }, 60, 35)]) {
    const data = many();
    const working = work(data);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    await expect(working).rejects.toMatchObject({ name: "VdError" });
  }
});
