import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import sharp from "sharp";
import { afterAll, describe, expect, test } from "vitest";
import { fixturePath, maxDifference, noiseImage, openFixture } from "../../../../tooling/testing/pictures";
import { fitPicture } from "../../src/pictures/fit";
import { resizeLanczos } from "../../src/pictures/lanczos";
import { loadImage } from "../../src/pictures/load-image";
import type { RgbImage } from "../../src/pictures/rgb-image";

const folder = mkdtempSync(join(tmpdir(), "vd-images-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const image = noiseImage(7, 5);
const area = image.width * image.height;

function raw(data: Uint8Array | Uint16Array, channels: 1 | 2 | 3 | 4, { width, height }: RgbImage = image) {
  return sharp(data, { raw: { width, height, channels } });
}

/** `count` bytes per pixel, from one function of pixel and channel. */
function pixels(count: number, value: (pixel: number, channel: number) => number): Uint8Array {
  return Uint8Array.from({ length: area * count }, (_, i) => value(Math.floor(i / count), i % count));
}

async function errorOf(source: Parameters<typeof loadImage>[0]): Promise<VdError> {
  const error = await loadImage(source).catch((reason) => reason);
  expect(error).toBeInstanceOf(VdError);
  return error;
}

describe("pictures", () => {
  test("a fixture's PNG is the stored pixels, by path and by bytes", async () => {
    using file = openFixture("tiny-svd/goldens.safetensors");
    const loaded = await loadImage(fixturePath("tiny-svd/resize_image.png"));
    expect(loaded).toMatchObject({ width: 480, height: 360 });
    expect(Buffer.compare(loaded.data, file.readBytes("resize.image_u8"))).toBe(0);
    const bytes = await raw(image.data, 3).png().toBuffer();
    expect(await loadImage(bytes)).toEqual(image);
  });

  test("pixels pass as they are", async () => {
    expect(await loadImage(image)).toBe(image);
  });

  test("alpha is dropped, not blended", async () => {
    const rgba = pixels(4, (pixel, channel) => (channel === 3 ? pixel * 7 : image.data[pixel * 3 + channel]!));
    expect(await loadImage(await raw(rgba, 4).png().toBuffer())).toEqual(image);
  });

  test("grey becomes three equal channels, with and without alpha", async () => {
    const grey = pixels(1, (pixel) => pixel * 6);
    const expected = pixels(3, (pixel) => pixel * 6);
    const png = await raw(grey, 1).toColourspace("b-w").png().toBuffer();
    expect((await sharp(png).metadata()).channels).toBe(1);
    expect((await loadImage(png)).data).toEqual(expected);
    const withAlpha = await raw(
      pixels(2, (pixel, channel) => (channel === 1 ? 9 : pixel * 6)),
      2,
    )
      .toColourspace("b-w")
      .png()
      .toBuffer();
    expect((await loadImage(withAlpha)).data).toEqual(expected);
  });

  test("of 16 bits the high byte is kept", async () => {
    const deep = Uint16Array.from({ length: area * 3 }, (_, i) => image.data[i]! * 256 + ((i * 37) % 256));
    const png = await sharp(deep, { raw: { width: image.width, height: image.height, channels: 3 } })
      .toColourspace("rgb16")
      .png()
      .toBuffer();
    expect((await sharp(png).metadata()).depth).toBe("ushort");
    expect((await loadImage(png)).data).toEqual(image.data);
  });

  test("CMYK is converted by Pillow's formula, without a profile", async () => {
    const jpeg = await sharp({ create: { width: 8, height: 8, channels: 3, background: "#c04020" } })
      .toColourspace("cmyk")
      .jpeg({ quality: 100 })
      .toBuffer();
    const { data } = await sharp(jpeg, { ignoreIcc: true })
      .pipelineColourspace("cmyk")
      .toColourspace("cmyk")
      .raw()
      .toBuffer({ resolveWithObject: true });
    const [c, m, y, k] = data as unknown as [number, number, number, number];
    const multiplied = [c, m, y].map((ink) => {
      const product = ink * (255 - k) + 128;
      return 255 - k - ((product + (product >> 8)) >> 8);
    });
    expect([...(await loadImage(jpeg)).data.subarray(0, 3)]).toEqual(multiplied);
  });

  test("EXIF orientation 6 turns the picture upright", async () => {
    const lying = await raw(image.data, 3).withMetadata({ orientation: 6 }).png().toBuffer();
    const upright = await loadImage(lying);
    expect(upright).toMatchObject({ width: image.height, height: image.width });
    const turned = Uint8Array.from({ length: area * 3 }, (_, i) => {
      const [x, y] = [Math.floor(i / 3) % image.height, Math.floor(i / 3 / image.height)];
      return image.data[((image.height - 1 - x) * image.width + y) * 3 + (i % 3)]!;
    });
    expect(upright.data).toEqual(turned);
  });

  test("of an animation the first frame counts", async () => {
    const film = Uint8Array.from([...image.data, ...new Uint8Array(area * 3).fill(200)]);
    const { width, height } = image;
    const made = sharp(film, { raw: { width, height: height * 2, channels: 3, pageHeight: height } });
    const webp = await made.webp({ lossless: true }).toBuffer();
    expect((await sharp(webp).metadata()).pages).toBe(2);
    expect(await loadImage(webp)).toEqual(image);
  });

  test("a colour profile is not applied", async () => {
    const bytes = await raw(image.data, 3).withIccProfile("p3", { attach: true }).png().toBuffer();
    const stored = await sharp(bytes, { ignoreIcc: true }).raw().toBuffer();
    expect((await sharp(bytes).metadata()).icc).toBeDefined();
    expect(maxDifference((await loadImage(bytes)).data, stored)).toBe(0);
  });
});

/** Little-endian words of 16 or 32 bits, as in BMP and ICO files. */
const words = (bits: 16 | 32, ...values: number[]): Uint8Array =>
  new Uint8Array((bits === 16 ? Uint16Array : Uint32Array).from(values).buffer);

/** A BMP of 24 bits: rows from below, blue first, each filled up to four bytes. */
function bmp({ width, height, data }: RgbImage): Uint8Array {
  const rowBytes = Math.ceil((width * 3) / 4) * 4;
  const pixels = new Uint8Array(rowBytes * height);
  for (let i = 0; i < width * height * 3; i++) {
    const [row, column] = [Math.floor(i / 3 / width), Math.floor(i / 3) % width];
    pixels[(height - 1 - row) * rowBytes + column * 3 + 2 - (i % 3)] = data[i]!;
  }
  const information = [
    ...words(32, 40, width, height),
    ...words(16, 1, 24),
    ...words(32, 0, pixels.length, 0, 0, 0, 0),
  ];
  return Uint8Array.from([0x42, 0x4d, ...words(32, 54 + pixels.length, 0, 54), ...information, ...pixels]);
}

describe("formats that FFmpeg reads", () => {
  test("a BMP", async () => {
    expect(await loadImage(bmp(image))).toEqual(image);
  });

  test("an ICO, its largest picture", async () => {
    const [small, large] = [
      await raw(noiseImage(2, 2).data, 3, noiseImage(2, 2)).png().toBuffer(),
      await raw(image.data, 3).png().toBuffer(),
    ];
    const entry = (side: [number, number], bytes: number, at: number) => [
      ...[...side, 0, 0],
      ...[...words(16, 1, 32), ...words(32, bytes, at)],
    ];
    const head = [
      0,
      0,
      1,
      0,
      2,
      0,
      ...entry([2, 2], small.length, 38),
      ...entry([image.width, image.height], large.length, 38 + small.length),
    ];
    expect(await loadImage(Uint8Array.from([...head, ...small, ...large]))).toEqual(image);
  });

  test("a PPM, a PGM and a PBM", async () => {
    const head = (kind: string) => Buffer.from(`${kind}\n# a comment\n${image.width} ${image.height}\n255\n`);
    expect(await loadImage(Buffer.concat([head("P6"), image.data]))).toEqual(image);
    const text = Buffer.from(Array.from(image.data).join(" "));
    expect(await loadImage(Buffer.concat([head("P3"), text, Buffer.from("\n")]))).toEqual(image);
    const grey = pixels(1, (pixel) => pixel * 6);
    expect((await loadImage(Buffer.concat([head("P5"), grey]))).data).toEqual(pixels(3, (pixel) => pixel * 6));
    const stripes = await loadImage(Buffer.from("P1\n2 1\n1 0\n"));
    expect([...stripes.data]).toEqual([0, 0, 0, 255, 255, 255]);
  });

  test("an AVIF", async () => {
    const flat = { width: 16, height: 8, data: new Uint8Array(16 * 8 * 3).fill(120) };
    const loaded = await loadImage(await raw(flat.data, 3, flat).avif({ lossless: true }).toBuffer());
    expect(maxDifference(loaded.data, flat.data)).toBeLessThanOrEqual(2);
  });

  test("damaged ones are refused as such", async () => {
    const error = await errorOf(bmp(image).subarray(0, 60));
    expect(error).toMatchObject({ code: "io", hint: "The file may be cut off: copy or download it again." });
  });

  test("short ones that promise many pixels are refused before there is memory for them", async () => {
    const huge = bmp(image);
    new DataView(huge.buffer, huge.byteOffset).setUint32(18, 12_000, true);
    new DataView(huge.buffer, huge.byteOffset).setUint32(22, 12_000, true);
    for (const bytes of [Buffer.from("P6 12000 12000 255\nabc"), huge])
      expect((await errorOf(bytes)).got, String(bytes.subarray(0, 2))).toMatch(/exceeds|[Ss]ize/);
  });
});

describe("a large picture", () => {
  test("shrunk while it is decoded is within a few levels of Pillow's way, and cut alike", async () => {
    // Smooth waves with an edge, as a JPEG of 17.3 megapixels.
    const [width, height] = [4800, 3600];
    const wave = { width, height, data: new Uint8Array(width * height * 3) };
    for (let y = 0, i = 0; y < height; y++)
      for (let x = 0; x < width; x++, i += 3) {
        wave.data[i] = 128 + 100 * Math.sin(x / 90) * Math.cos(y / 70);
        wave.data[i + 1] = x > 2400 ? 200 : 40;
        wave.data[i + 2] = (255 * y) / height;
      }
    const jpeg = await raw(wave.data, 3, wave).jpeg({ quality: 90, chromaSubsampling: "4:4:4" }).toBuffer();
    const use = { width: 256, height: 144 };
    const quick = await loadImage(jpeg, use);
    expect(quick).toMatchObject({ width: 512, height: 384 });
    const exact = await loadImage(jpeg);
    expect(exact).toMatchObject({ width, height });
    const prepared = async (picture: RgbImage) => {
      const part = await fitPicture(picture, use.width, use.height);
      return (await resizeLanczos(part, use.width, use.height)).data;
    };
    const [ours, pillows] = [await prepared(quick), await prepared(exact)];
    const sum = ours.reduce((total, value, i) => total + Math.abs(value - pillows[i]!), 0);
    expect(sum / ours.length).toBeLessThan(0.5);
    expect(maxDifference(ours, pillows)).toBeLessThanOrEqual(24);
  });

  test("stays as it is below 16 megapixels, and where it is not large for its use", async () => {
    const jpeg = await raw(noiseImage(600, 400).data, 3, noiseImage(600, 400)).jpeg().toBuffer();
    expect(await loadImage(jpeg, { width: 8, height: 8 })).toMatchObject({ width: 600, height: 400 });
    const turned = await sharp({ create: { width: 5000, height: 3400, channels: 3, background: "#123456" } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    expect(await loadImage(turned, { width: 34, height: 16 })).toMatchObject({ width: 68, height: 100 });
    expect(await loadImage(turned, { width: 3000, height: 100 })).toMatchObject({ width: 3400, height: 5000 });
  });
});

describe("faults", () => {
  test("a missing file and a folder", async () => {
    expect(await errorOf(join(folder, "none.png"))).toMatchObject({ code: "io", got: "no such file" });
    mkdirSync(join(folder, "sub"));
    expect(await errorOf(join(folder, "sub"))).toMatchObject({ code: "io", got: "a folder" });
  });

  test("an empty file, a file of something else and cut-off pictures", async () => {
    const file = (name: string, bytes: Uint8Array | string) => {
      writeFileSync(join(folder, name), bytes);
      return join(folder, name);
    };
    expect(await errorOf(file("empty.png", ""))).toMatchObject({ code: "io", got: "an empty file" });
    expect(await errorOf(file("text.png", "not a picture"))).toMatchObject({
      code: "io",
      got: "13 bytes that are none",
    });
    for (const format of ["png", "jpeg", "webp"] as const) {
      const whole = await raw(noiseImage(60, 40).data, 3, noiseImage(60, 40)).toFormat(format).toBuffer();
      const cut = await errorOf(file(`cut.${format}`, whole.subarray(0, whole.length / 2)));
      expect(cut.code).toBe("io");
      expect(cut.message).toMatch(/a damaged one .* The file may be cut off/);
      expect(cut.where).toBe(join(folder, `cut.${format}`));
    }
  });

  const box = (type: string, body: string) =>
    Buffer.from(`\0\0\0${String.fromCharCode(8 + body.length)}${type}${body}`, "latin1");

  test.each([
    ["a video", Buffer.concat([box("ftyp", "isom\0\0\x02\0isomiso2avc1mp41"), Buffer.alloc(64)])],
    ["a video", Buffer.from("\x1aE\xdf\xa3\x9f\x42\x86\x81webm", "latin1")],
    ["a video", Buffer.from("RIFF\x10\0\0\0AVI LIST", "latin1")],
    ["a PDF", Buffer.from("%PDF-1.7\n")],
    ["a JPEG XL picture", Buffer.from([0xff, 0x0a, 0x7f, 0, 0, 0])],
  ])("says of a file of another kind that it is %s", async (got, bytes) => {
    expect(await errorOf(bytes)).toMatchObject({ code: "io", got, hint: expect.stringMatching(/PNG/) });
  });

  test("a HEIC picture is named, with what to do", async () => {
    const heic = Buffer.concat([box("ftyp", "mif1\0\0\0\0mif1heic"), Buffer.alloc(64)]);
    const error = await errorOf(heic);
    expect(error).toMatchObject({ code: "unsupported", got: "a HEIC picture, as iPhones take them" });
    expect(error.hint).toContain("Save it as JPEG");
  });

  test("too many pixels are refused before they are decoded", async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="30000" height="30000"></svg>';
    const error = await errorOf(Buffer.from(svg));
    expect(error).toMatchObject({ code: "memory", got: "30000×30000 pixels", where: "image bytes" });
  });

  test("values of other kinds and pixels that do not fit", async () => {
    for (const value of [5, null, undefined, {}, true]) expect((await errorOf(value as never)).code).toBe("attr");
    expect((await errorOf({ ...image, width: 8 })).code).toBe("shape");
    expect((await errorOf({ ...image, height: -5 })).code).toBe("shape");
    expect((await errorOf({ ...image, data: [1] as never })).code).toBe("dtype");
  });
});
