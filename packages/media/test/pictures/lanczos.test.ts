import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { noiseImage, openFixture, storedImage } from "../../../../tooling/testing/pictures";
import { resizeLanczos } from "../../src/pictures/lanczos";

test("every stored resize is met bit for bit", async () => {
  using file = openFixture("preprocess/preprocess.safetensors");
  const names = [...file.entries.keys()].filter((name) => name.includes(".resize."));
  expect(names.length).toBeGreaterThan(4);
  for (const name of names) {
    const [, image, height, width] = /^out\.(.+)\.resize\.(\d+)x(\d+)$/.exec(name)!;
    const resized = await resizeLanczos(storedImage(file, `in.${image}.rgb`), Number(width), Number(height));
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

test.each(pillow)("%i×%i to %i×%i is what Pillow gives", async (sourceWidth, sourceHeight, width, height, hash) => {
  const { data } = await resizeLanczos(noiseImage(sourceWidth, sourceHeight), width, height);
  expect(createHash("sha256").update(data).digest("hex").slice(0, 16)).toBe(hash);
});

test("a flat picture stays flat, and the source is never changed", async () => {
  const size = fc.integer({ min: 1, max: 40 });
  const level = fc.nat(255);
  const flat = fc.asyncProperty(
    size,
    size,
    size,
    size,
    level,
    async (sourceWidth, sourceHeight, width, height, value) => {
      const data = new Uint8Array(sourceWidth * sourceHeight * 3).fill(value);
      const resized = await resizeLanczos({ width: sourceWidth, height: sourceHeight, data }, width, height);
      expect(resized.data).toEqual(new Uint8Array(width * height * 3).fill(value));
      expect(resized.data.buffer).not.toBe(data.buffer);
      expect(data.every((other) => other === value)).toBe(true);
    },
  );
  await fc.assert(flat, { seed: 20264, numRuns: 200 });
});

test("sizes below 1 and data of another length are refused", async () => {
  const image = noiseImage(4, 4);
  const refused = (...args: Parameters<typeof resizeLanczos>) => expect(resizeLanczos(...args)).rejects;
  await refused(image, 0, 4).toThrow("[resize] expected width as a whole number from 1 up, got 0");
  await refused(image, 4, 2.5).toThrow("got 2.5");
  await refused({ ...image, width: 5 }, 4, 4).toThrow("expected 60 bytes of data");
  await refused(image, 4, 4, null as never).toThrow("expected an object of options, got null");
});

test("a signal ends it before it begins and while it is under way", async () => {
  const image = noiseImage(200, 100);
  const early = resizeLanczos(image, 20, 10, { signal: AbortSignal.abort(), where: "the frame" });
  await expect(early).rejects.toMatchObject({ code: "cancelled", where: "the frame" });
  const controller = new AbortController();
  const late = resizeLanczos(image, 20, 10, { signal: controller.signal });
  setImmediate(() => controller.abort());
  await expect(late).rejects.toMatchObject({ code: "cancelled", where: "resize" });
});

test("a result is no part of its source, also where that is a Buffer of the same size", async () => {
  const image = noiseImage(3, 2);
  const data = Buffer.from(image.data);
  const same = await resizeLanczos({ ...image, data }, 3, 2);
  data.fill(0);
  expect(same.data).toEqual(image.data);
});

test("the event loop turns while a large picture is resized", async () => {
  const { width, height } = { width: 3001, height: 2003 };
  const image = { width, height, data: new Uint8Array(new SharedArrayBuffer(3 * width * height)).fill(77) };
  let turns = 0;
  const beat = setInterval(() => turns++, 1);
  const started = performance.now();
  const { data } = await resizeLanczos(image, 641, 359);
  const elapsedMs = performance.now() - started;
  clearInterval(beat);
  expect(data.every((level) => level === 77)).toBe(true);
  // A thread of its own works: how often the loop turns meanwhile is up to the system.
  expect(turns).toBeGreaterThan(Math.min(elapsedMs / 20, 2));
});
