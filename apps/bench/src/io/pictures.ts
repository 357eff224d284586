import { VdError } from "@vd/kernels-native";
import { loadImage, type RgbImage } from "@vd/media";
import { decode, encode } from "fast-png";

const CHANNELS = 3;

/**
 * Reads a picture file: any by the image library, 8-bit RGB PNG where that cannot be loaded, as on machines that get these
 * programs as single files.
 *
 * @throws VdError as `loadImage`, `unsupported` for other pictures where the library is missing
 */
export async function readPicture(path: string, bytes: Uint8Array): Promise<RgbImage> {
  try {
    return await loadImage(bytes);
  } catch (error) {
    const plain = error instanceof VdError && error.code === "unsupported" ? plainPng(bytes) : undefined;
    if (plain) return plain;
    if (!(error instanceof VdError)) throw error;
    const { code, expected, got, hint } = error;
    throw new VdError({ code, where: path, expected, got, hint, cause: error });
  }
}

function plainPng(bytes: Uint8Array): RgbImage | undefined {
  try {
    const { width, height, channels, depth, data } = decode(bytes);
    return channels === CHANNELS && depth === 8 ? { width, height, data: new Uint8Array(data) } : undefined;
  } catch {
    // No PNG: the library's own error says what is missing.
    return undefined;
  }
}

/** Encodes a picture as PNG without the image library, not compressed: pictures of measurements hardly shrink, and programs that get
 *  here without that library would take longer to unpack them than to prepare them for the model. */
export const encodePlainPng = ({ width, height, data }: RgbImage): Uint8Array =>
  encode({ width, height, data, channels: CHANNELS, depth: 8 }, { zlib: { level: 0 } });

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
