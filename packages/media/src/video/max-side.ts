import { oneOfThese, requireFields, VdError, type WantedFields } from "@vd/kernels-native";
import { SIZE } from "../pictures/rgb-image";
import type { OutputTarget } from "./target";

/**
 * The longest side in pixels that a format stores. Sources: H.264 level 6.2, √(8 · 139264 macroblocks) (ITU-T H.264
 * table A-1); VP9, GIF and PNG headers of 16, 16 and 31 bits; WebP, 14 bits less one
 * (https://developers.google.com/speed/webp/faq).
 */
const MAX_SIDE: Readonly<Record<OutputTarget["format"], number>> = {
  mp4: 16_880,
  webm: 65_535,
  gif: 65_535,
  webp: 16_383,
  png: 2 ** 31 - 1,
};

const STORED: WantedFields = { format: oneOfThese(Object.keys(MAX_SIDE)) };

/** @throws VdError `unsupported` for frames that the target's format cannot store, `attr` for what is no target and no size. */
export function requireStorable(target: OutputTarget, size: { width: number; height: number }): void {
  requireFields("requireStorable target", target, STORED);
  requireFields("requireStorable size", size, SIZE);
  const { format } = target;
  const { width, height } = size;
  const max = MAX_SIDE[format];
  if (width <= max && height <= max) return;
  const expected = `sides of at most ${max} pixels, which is what .${format} files store`;
  const hint = "Make a smaller video, or write .mp4, or PNG frames";
  throw new VdError({ code: "unsupported", where: "--output", expected, got: `${width}x${height}`, hint });
}
