import { countOf, type FloatsRead, largestMagnitude, VdError } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";

/** Frames of a video, channels last. */
export interface VideoFrames {
  numFrames: number;
  /** Pixels. */
  width: number;
  height: number;
  /** [F,H,W,3] in about [-1,1]. */
  data: Float32Array;
}

/** What the autoencoder makes of a video. */
export interface VideoLatents {
  numFrames: number;
  /** Pixels of the latents. */
  width: number;
  height: number;
  /** [F,C,h,w]. */
  data: Float32Array;
}

/** Values beyond these are no pictures, and no latents: those of models lie within about ±1 and ±30. */
const MOST = { picture: 8, latent: 1_000 } as const;

/** Numbers that are looked at between two pauses. */
const PIECE = 65_536;

const fail = (code: "shape" | "dtype" | "attr", where: string, expected: string, got: string, hint?: string): never => {
  throw new VdError({ code, where, expected, got, hint });
};

/** A positive whole number of at most 65536. @throws VdError `shape` */
export function checkSize(where: string, value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 65_536) return value;
  return fail("shape", where, "a positive whole number of at most 65536", String(value));
}

/** Finds the first number that is no finite number of at most `most`; undefined if all are. Pauses. */
export function* firstOutside(data: Float32Array, most: number): Pausable<number | undefined> {
  for (let begin = 0; begin < data.length; begin += PIECE) {
    const piece = data.subarray(begin, begin + PIECE);
    if (!(largestMagnitude(piece) <= most)) return begin + piece.findIndex((value) => !(Math.abs(value) <= most));
    yield;
  }
  return undefined;
}

/** Where in [F,…] a number stands, for messages. */
const placeOf = (i: number, dims: readonly number[]): string => `frame ${Math.floor(i / countOf(dims.slice(1)))}`;

/**
 * Checks what a caller gives: floats, as many as `dims` has, finite and of the size that pictures or latents have. Pauses.
 *
 * @throws VdError `dtype` for what is no Float32Array, `shape` for another length, `attr` for values that cannot be
 */
export const checkValues = pausable(function* (
  where: string,
  data: unknown,
  dims: readonly number[],
  kind: keyof typeof MOST,
): Pausable<Float32Array> {
  if (!(data instanceof Float32Array)) {
    const got = ArrayBuffer.isView(data) ? data.constructor.name : typeof data;
    return fail("dtype", where, "values as Float32Array", got);
  }
  if (data.length !== countOf(dims)) fail("shape", where, `${countOf(dims)} numbers, [${dims}]`, String(data.length));
  const wrong = yield* firstOutside(data, MOST[kind]);
  if (wrong === undefined) return data;
  const [value, most] = [data[wrong]!, MOST[kind]];
  const got = `${value} in ${placeOf(wrong, dims)}`;
  if (!Number.isFinite(value)) fail("attr", where, "finite numbers", got);
  const hint = kind === "picture" ? "Levels of 8 bits become such values by x / 127.5 - 1." : undefined;
  return fail("attr", where, kind === "picture" ? "frames in about [-1,1]" : `latents within ±${most}`, got, hint);
});

/**
 * Checks that a model's results are finite. Pauses.
 *
 * @throws VdError `unsupported` naming the frame
 */
export const checkResults = pausable(function* (
  where: string,
  data: Float32Array,
  dims: readonly number[],
  dtype: string,
): Pausable<Float32Array> {
  const firstNotFinite = yield* firstOutside(data, Number.MAX_VALUE);
  return checkFinite(where, { values: data, ...(firstNotFinite === undefined ? {} : { firstNotFinite }) }, dims, dtype);
});

/**
 * Refuses a model's results that are not finite, as was found out when they were read.
 *
 * @throws VdError `unsupported` naming the frame
 */
export function checkFinite(
  where: string,
  { values, firstNotFinite: wrong }: FloatsRead,
  dims: readonly number[],
  dtype: string,
): Float32Array {
  if (wrong === undefined) return values;
  const hint =
    dtype === "f32"
      ? "The weights hold numbers that are not finite, or are of another model."
      : "Values beyond the range of 16 bits: use precision float32 or bfloat16.";
  const got = `${values[wrong]} in ${placeOf(wrong, dims)}`;
  throw new VdError({ code: "unsupported", where, expected: "finite results", got, hint });
}
