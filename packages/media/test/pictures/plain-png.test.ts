import { crc32, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { noiseImage } from "../../../../tooling/testing/pictures";
import { loadImage } from "../../src/pictures/load-image";
import { decodePlainPng, encodePlainPng } from "../../src/pictures/plain-png";

test("pictures are PNG files: every chunk's sum is right and the rows hold the pixels", () => {
  const [width, height] = [5, 3];
  const rgb = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 37) % 256);
  const png = encodePlainPng({ width, height, data: rgb });
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body));
    chunks.set(body.toString("latin1", 0, 4), body.subarray(4));
    at += 12 + length;
  }
  expect([...chunks.keys()]).toEqual(["IHDR", "IDAT", "IEND"]);
  expect([...chunks.get("IHDR")!]).toEqual([0, 0, 0, width, 0, 0, 0, height, 8, 2, 0, 0, 0]);
  const rows = inflateSync(chunks.get("IDAT")!);
  for (let y = 0; y < height; y++) {
    const row = rows.subarray(y * (1 + 3 * width), (y + 1) * (1 + 3 * width));
    expect([...row]).toEqual([0, ...rgb.subarray(3 * width * y, 3 * width * (y + 1))]);
  }
});

test("pictures come back as they were, by this decoder and by the image library", async () => {
  const image = noiseImage(13, 7);
  const png = encodePlainPng(image);
  expect(decodePlainPng(png, "a.png")).toEqual(image);
  expect(await loadImage(png)).toEqual(image);
});

test("other pictures are refused with their names, data that does not fit its sizes too", async () => {
  const png = encodePlainPng(noiseImage(4, 4));
  const grey = Buffer.from(png);
  grey[25] = 0;
  expect(() => decodePlainPng(grey, "a.png")).toThrow("[a.png] expected an 8-bit RGB PNG without filters, got another");
  expect(() => decodePlainPng(Buffer.from("GIF89a"), "a.gif")).toThrow("got another kind of picture");
  expect(() => encodePlainPng({ ...noiseImage(4, 4), width: 5 })).toThrow("60 bytes of data");
});
