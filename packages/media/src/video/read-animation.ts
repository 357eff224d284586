import { throwIfAborted } from "@vd/kernels-native";
import { fileError } from "@vd/tensor";
import type { RgbImage } from "../pictures/rgb-image";
import { loadSharp } from "../pictures/sharp";

/**
 * Reads the frames of an animated GIF or WebP one by one, as they are asked for; alpha is dropped. A still picture has one.
 *
 * @throws VdError `io` for a file that cannot be read, `cancelled` once the signal has fired, `unsupported` where the image
 *   library cannot be loaded
 */
export async function* readAnimation(path: string, signal?: AbortSignal): AsyncGenerator<RgbImage> {
  const sharp = await loadSharp();
  const failed = (cause: unknown) => fileError(path, "an animated GIF or WebP", cause);
  const { pages = 1 } = await sharp(path)
    .metadata()
    .catch((cause: unknown) => {
      throw failed(cause);
    });
  for (let page = 0; page < pages; page++) {
    throwIfAborted(signal, path, { work: "the reading" });
    const picture = sharp(path, { page, pages: 1, failOn: "error" }).removeAlpha().toColourspace("srgb").raw();
    const { data, info } = await picture.toBuffer({ resolveWithObject: true }).catch((cause: unknown) => {
      throw failed(cause);
    });
    yield { width: info.width, height: info.height, data: Uint8Array.from(data) };
  }
}
