import { crc32, deflateSync, inflateSync } from "node:zlib";
import { VdError } from "@vd/kernels-native";
import { loadImage, type RgbImage } from "@vd/svd-pipeline";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Depth 8, colour type RGB, the only compression, filter method and no interlacing. */
const RGB8 = [8, 2, 0, 0, 0];
const CHANNELS = 3;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** A picture as a PNG file whose rows are not filtered. Source: https://www.w3.org/TR/png-3. */
export function encodePng({ width, height, data }: RgbImage): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(RGB8, 8);
  const rowBytes = CHANNELS * width;
  const rows = Buffer.alloc(height * (1 + rowBytes));
  for (let y = 0; y < height; y++) rows.set(data.subarray(rowBytes * y, rowBytes * (y + 1)), y * (1 + rowBytes) + 1);
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...parts]);
}

/** Reads what {@link encodePng} writes. Throws VdError `io` for any other picture. */
export function decodeOwnPng(bytes: Buffer, where: string): RgbImage {
  const fail = (got: string) =>
    new VdError({ code: "io", where, expected: "a PNG that this program wrote", got, hint: "Install sharp." });
  if (!bytes.subarray(0, 8).equals(SIGNATURE) || !bytes.subarray(24, 29).equals(Buffer.from(RGB8)))
    throw fail("another kind of picture");
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const dataAt = 33;
  const packed = bytes.subarray(dataAt + 8, dataAt + 8 + bytes.readUInt32BE(dataAt));
  const rows = inflateSync(packed);
  const rowBytes = CHANNELS * width;
  const data = new Uint8Array(height * rowBytes);
  for (let y = 0; y < height; y++) {
    const start = y * (1 + rowBytes);
    if (rows[start] !== 0) throw fail("filtered rows");
    data.set(rows.subarray(start + 1, start + 1 + rowBytes), y * rowBytes);
  }
  return { width, height, data };
}

/** A picture from a PNG file: by the image library, or without it where this program wrote the file. */
export async function readPicture(path: string, bytes: Buffer): Promise<RgbImage> {
  try {
    return await loadImage(bytes);
  } catch (error) {
    if (error instanceof VdError && error.code === "unsupported") return decodeOwnPng(bytes, path);
    throw error;
  }
}

/** A picture of smooth waves with some detail, the same for the same size. */
export function testPicture(width: number, height: number): RgbImage {
  const data = new Uint8Array(width * height * CHANNELS);
  const wave = (x: number, y: number, c: number) =>
    0.5 + 0.3 * Math.sin((3 + c) * x + 2 * y) * Math.cos((5 - c) * y) + 0.15 * Math.sin(40 * x * y + c);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let c = 0; c < CHANNELS; c++) {
        const value = wave((x / width) * Math.PI, (y / height) * Math.PI, c);
        data[(y * width + x) * CHANNELS + c] = Math.round(255 * Math.min(1, Math.max(0, value)));
      }
  return { width, height, data };
}
