import { VdError } from "@vd/kernels-native";
import { decodePlainPng, loadImage, type RgbImage } from "@vd/media";

const CHANNELS = 3;

/** A picture from a PNG file: by the image library, or without it where this program wrote the file. */
export async function readPicture(path: string, bytes: Buffer): Promise<RgbImage> {
  try {
    return await loadImage(bytes);
  } catch (error) {
    if (error instanceof VdError && error.code === "unsupported") return decodePlainPng(bytes, path);
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
