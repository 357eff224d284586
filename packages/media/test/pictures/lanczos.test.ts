import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { noiseImage, openFixture, storedImage } from "../../../../tooling/testing/pictures";
import { resizeLanczos } from "../../src/pictures/lanczos";

test("every stored resize is met bit for bit", () => {
  using file = openFixture("preprocess/preprocess.safetensors");
  const names = [...file.entries.keys()].filter((name) => name.includes(".resize."));
  expect(names.length).toBeGreaterThan(4);
  for (const name of names) {
    const [, image, height, width] = /^out\.(.+)\.resize\.(\d+)x(\d+)$/.exec(name)!;
    const resized = resizeLanczos(storedImage(file, `in.${image}.rgb`), Number(width), Number(height));
    expect(resized).toMatchObject({ width: Number(width), height: Number(height) });
    expect(Buffer.compare(resized.data, file.readBytes(name)), name).toBe(0);
  }
});

/** Source and result sizes with the SHA-256 of what Pillow 12.3.0 makes of {@link noiseImage}. */
const pillow: [number, number, number, number, string][] = [
  [1, 1, 5, 3, "18a033adcd10360c"],
  [5, 3, 1, 1, "036013a7bca3fbf9"],
  [100, 70, 96, 64, "06722a2b96a209f1"],
  [97, 61, 97, 200, "b6f7b084acc96634"],
  [97, 61, 33, 61, "e148f12bfca23488"],
  [480, 333, 1024, 576, "70af6d5d56cf555a"],
  [640, 481, 224, 129, "ac7b722c416bf7e0"],
  [3, 301, 8, 150, "9601352717351513"],
  [3, 301, 8, 400, "b4a2f88cb274cacd"],
  [3, 300, 8, 150, "907f405906f88574"],
  [2, 777, 2, 16, "ecab215671c12f00"],
];

test.each(pillow)("%i×%i to %i×%i is what Pillow gives", (sourceWidth, sourceHeight, width, height, hash) => {
  const { data } = resizeLanczos(noiseImage(sourceWidth, sourceHeight), width, height);
  expect(createHash("sha256").update(data).digest("hex").slice(0, 16)).toBe(hash);
});

test("a flat picture stays flat, and the source is never changed", () => {
  const size = fc.integer({ min: 1, max: 40 });
  const level = fc.nat(255);
  const flat = fc.property(size, size, size, size, level, (sourceWidth, sourceHeight, width, height, value) => {
    const data = new Uint8Array(sourceWidth * sourceHeight * 3).fill(value);
    const resized = resizeLanczos({ width: sourceWidth, height: sourceHeight, data }, width, height);
    expect(resized.data).toEqual(new Uint8Array(width * height * 3).fill(value));
    expect(resized.data.buffer).not.toBe(data.buffer);
    expect(data.every((other) => other === value)).toBe(true);
  });
  fc.assert(flat, { seed: 20264, numRuns: 200 });
});

test("sizes below 1 and data of another length are refused", () => {
  const image = noiseImage(4, 4);
  expect(() => resizeLanczos(image, 0, 4)).toThrow("[resize] expected width as a whole number from 1 up, got 0");
  expect(() => resizeLanczos(image, 4, 2.5)).toThrow("got 2.5");
  expect(() => resizeLanczos({ ...image, width: 5 }, 4, 4)).toThrow("expected 60 bytes of data");
});
