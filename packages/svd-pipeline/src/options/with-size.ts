import { loadImage } from "@vd/media";
import { isFloatImage } from "../conditioning/float-image";
import type { GenerateOptions } from "../types";
import { autoSize } from "./auto-size";
import type { CheckedOptions } from "./check-generate";

/** The options with the size that the picture's shape decides, where it does. */
export async function withSize(options: GenerateOptions, checked: CheckedOptions, factor: number) {
  if (!checked.autoSize) return { options, checked };
  const side = Math.max(checked.width, checked.height);
  const image = isFloatImage(options.image)
    ? options.image
    : await loadImage(options.image, { width: side, height: side });
  return { options: { ...options, image }, checked: { ...checked, ...autoSize(image, checked, factor) } };
}
