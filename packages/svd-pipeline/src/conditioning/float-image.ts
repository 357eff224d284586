import { VdError } from "@vd/kernels-native";
import type { FloatImage } from "@vd/media";

/** True for a picture whose pixels are floats. */
export function isFloatImage(value: unknown): value is FloatImage {
  return typeof value === "object" && value !== null && (value as Partial<FloatImage>).data instanceof Float32Array;
}

/**
 * Checks a picture of floats.
 *
 * @throws VdError `shape` for sizes that do not fit the data, `attr` for values outside 0…1
 */
export function checkFloatImage({ width, height, data }: FloatImage): void {
  const where = "image";
  const isWhole = [width, height].every((side) => Number.isSafeInteger(side) && side > 0);
  if (!isWhole || data.length !== 3 * width * height) {
    const expected = `3 planes of width × height floats`;
    throw new VdError({ code: "shape", where, expected, got: `${data.length} for ${width}×${height}` });
  }
  const wrong = data.find((value) => !(value >= 0 && value <= 1));
  if (wrong === undefined) return;
  const hint = "Divide 8-bit levels by 255, or pass them as bytes.";
  throw new VdError({ code: "attr", where, expected: "floats from 0 to 1", got: String(wrong), hint });
}
