import { crc32, deflateSync, inflateSync } from "node:zlib";
import { VdError } from "@vd/kernels-native";
import { checkRgbImage, type RgbImage } from "./rgb-image";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Depth 8, colour type RGB, the only compression, filter method and no interlacing. */
const RGB8 = [8, 2, 0, 0, 0];
const CHANNELS = 3;
/** Where the data's chunk begins: behind the signature and the header's chunk. */
const DATA_AT = 33;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/**
 * Encodes a picture as a PNG file whose rows are not filtered, without the image library.
 * Source: https://www.w3.org/TR/png-3.
 * @throws VdError `shape` or `dtype` for data that does not fit its sizes.
 */
export function encodePlainPng(image: RgbImage): Buffer {
  checkRgbImage(image, "PNG");
  const { width, height, data } = image;
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

/**
 * Decodes a PNG file that {@link encodePlainPng} made, without the image library. where: the file's name, for the error.
 * @throws VdError `io` for any other picture.
 */
export function decodePlainPng(bytes: Buffer, where: string): RgbImage {
  const fail = (got: string) =>
    new VdError({ code: "io", where, expected: "an 8-bit RGB PNG without filters", got, hint: "Install sharp." });
  if (!bytes.subarray(0, 8).equals(SIGNATURE) || !bytes.subarray(24, 29).equals(Buffer.from(RGB8)))
    throw fail("another kind of picture");
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const packed = bytes.subarray(DATA_AT + 8, DATA_AT + 8 + bytes.readUInt32BE(DATA_AT));
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
