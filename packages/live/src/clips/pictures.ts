import { fitPicture, loadImage, type PictureSource, type RgbImage, resizeLanczos } from "@vd/media";
import type { LivePicture } from "../session/types";

type Size = { width: number; height: number };

/** Red, green and blue of a picture that may have alpha. */
function withoutAlpha({ width, height, data }: LivePicture): RgbImage {
  if (data.length !== 4 * width * height) return { width, height, data: new Uint8Array(data) };
  const rgb = new Uint8Array(3 * width * height);
  for (let pixel = 0; pixel < width * height; pixel++)
    for (let c = 0; c < 3; c++) rgb[3 * pixel + c] = data[4 * pixel + c]!;
  return { width, height, data: rgb };
}

const isPixels = (source: PictureSource | LivePicture): source is LivePicture =>
  typeof source === "object" && "width" in source && "height" in source && "data" in source;

/**
 * Returns a picture in a session's size: the largest part of its shape, resized.
 *
 * @throws VdError `io` for what cannot be read, `shape` for sizes that do not fit the data
 */
export async function sessionPicture(source: PictureSource | LivePicture, { width, height }: Size): Promise<RgbImage> {
  const image = isPixels(source) ? withoutAlpha(source) : await loadImage(source as PictureSource, { width, height });
  const part = await fitPicture(image, width, height);
  if (part.width === width && part.height === height) return part;
  return resizeLanczos(part, width, height);
}

/** Returns pixels [H,W,3] in [-1, 1] as a picture. */
export function pictureOfPixels(pixels: Float32Array, { width, height }: Size): RgbImage {
  return { width, height, data: Uint8Array.from(pixels, (value) => Math.round((value + 1) * 127.5)) };
}
