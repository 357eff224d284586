import { arrayOf, COUNT, FLOATS_32, VdError, type Wanted, type WantedFields } from "@vd/kernels-native";

/** A picture in memory: 8 bits per channel, rows from the top. */
export interface RgbImage {
  readonly width: number;
  readonly height: number;
  /** [H,W,3], red first, 0 to 255. */
  readonly data: Uint8Array;
}

/** A picture in memory as floats. */
export interface FloatImage {
  readonly width: number;
  readonly height: number;
  /** [3,H,W], red first, 0 to 1. */
  readonly data: Float32Array;
}

/** What bytes of pixels must be. */
export const BYTES = arrayOf("Uint8Array");

/** What has a size in pixels. */
export const SIZE: WantedFields = { width: COUNT, height: COUNT };

/** What a {@link FloatImage} must be. */
export const FLOAT_IMAGE: WantedFields = { ...SIZE, data: FLOATS_32 };

const LEVELS: Wanted = {
  expected: "a Uint8Array or Float32Array",
  fits: (value) => BYTES.fits(value) || FLOATS_32.fits(value),
};

/** What either kind of picture must be. */
export const ANY_IMAGE: WantedFields = { ...SIZE, data: LEVELS };

/**
 * Checks a picture. where: what messages call the caller.
 *
 * @throws VdError `shape` unless `image` has whole sizes from 1 up and the data to fill them, `dtype` unless these are
 *   bytes
 */
export function checkRgbImage(image: RgbImage, where: string): void {
  if (typeof image !== "object" || image === null)
    throw new VdError({ code: "shape", where, expected: "a picture { width, height, data }", got: String(image) });
  const { width, height, data } = image;
  const whole = Number.isSafeInteger(width) && Number.isSafeInteger(height) && width > 0 && height > 0;
  if (!whole) {
    const expected = "a width and a height of at least 1 pixel";
    throw new VdError({ code: "shape", where, expected, got: `${width} and ${height}` });
  }
  if (!(data instanceof Uint8Array)) {
    throw new VdError({ code: "dtype", where, expected: "data as Uint8Array", got: typeof data });
  }
  if (data.length !== width * height * 3) {
    const expected = `${width * height * 3} bytes of data (${width}×${height} pixels of 3 bytes)`;
    throw new VdError({ code: "shape", where, expected, got: `${data.length} bytes` });
  }
}

/**
 * Checks a number of pixels.
 *
 * @throws VdError `attr` unless `value` is a whole number from 1 up
 */
export function checkPixels(name: string, value: number, where: string): void {
  if (Number.isSafeInteger(value) && value > 0) return;
  throw new VdError({ code: "attr", where, expected: `${name} as a whole number from 1 up`, got: String(value) });
}
