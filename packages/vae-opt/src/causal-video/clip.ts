import { type FloatsRead, largestMagnitude, VdError } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";

/** Frames or latents of a clip, or of a piece of one, channels last. */
export interface Clip {
  /** As many numbers as `dims` has elements, the last dimension's next to each other. */
  values: Float32Array;
  dims: readonly [frames: number, height: number, width: number, channels: number];
}

/** What a clip must be like. */
export interface ClipRule {
  /** Who complains. */
  where: string;
  /** `frames` or `latents`. */
  what: string;
  channels: number;
  /** Height and width must be multiples of it. */
  multiple: number;
  /** The largest absolute value. */
  most: number;
  /** What to do about larger ones, as a sentence. */
  hint: string;
}

/** Values between two pauses. */
const PIECE = 65_536;

/** Of frames and of latents. */
export const MAX_SIDE = 2 ** 16;

/**
 * Checks a clip that a caller gives, but for its values.
 *
 * @throws VdError `shape`, `dtype`
 */
export function checkDims(clip: Clip, { where, what, channels, multiple }: ClipRule): void {
  const fail = (code: "shape" | "dtype", expected: string, got: string): never => {
    throw new VdError({ code, where: `${where}] [${what}`, expected, got });
  };
  if (typeof clip !== "object" || clip === null) fail("shape", "a clip { values, dims }", String(clip));
  const { values, dims } = clip;
  if (!(values instanceof Float32Array))
    fail("dtype", "values in a Float32Array", Object.prototype.toString.call(values));
  const isDims = Array.isArray(dims) && dims.length === 4 && dims.every((n) => Number.isInteger(n) && n >= 1);
  if (!isDims) fail("shape", "dims [frames,height,width,channels] of at least 1", JSON.stringify(dims) ?? "none");
  const [frames, height, width, given] = dims;
  if (given !== channels) fail("shape", `${channels} channels, the last of dims`, `[${dims}]`);
  const fits = (side: number) => side % multiple === 0 && side <= MAX_SIDE;
  if (!fits(height) || !fits(width)) {
    const sides = multiple === 1 ? "sides" : `height and width that are multiples of ${multiple}`;
    fail("shape", `${sides} of at most ${MAX_SIDE}`, `${height} × ${width}`);
  }
  const count = frames * height * width * channels;
  if (values.length !== count) fail("shape", `${count} values for [${dims}]`, String(values.length));
}

/**
 * Checks the largest magnitude of values that a caller gives, or NaN where one is.
 *
 * @throws VdError `attr` for what is not finite or out of range
 */
export function checkLargest(found: number, { where, what, most, hint }: ClipRule): void {
  if (found <= most) return;
  throw new VdError({
    ...{ code: "attr", where: `${where}] [${what}`, expected: `finite values of at most ±${most}` },
    ...{ got: Number.isNaN(found) ? "NaN" : String(found), hint },
  });
}

/** Checks the values of a clip that a caller gives, as {@link checkLargest}. Pauses after some. */
export const checkValues = pausable(function* ({ values }: Clip, rule: ClipRule): Pausable<void> {
  for (let begin = 0; begin < values.length; begin += PIECE) {
    checkLargest(largestMagnitude(values.subarray(begin, begin + PIECE)), rule);
    yield;
  }
});

/**
 * Refuses what the model computed where it is not finite: finite input must give finite output. place: the size of a frame of the result, and the
 * number of the first one.
 *
 * @throws VdError `weights` naming the frame
 */
export function checkResult(
  { values, firstNotFinite }: FloatsRead,
  where: string,
  place: { dims: Clip["dims"]; firstFrame: number },
): Float32Array {
  if (firstNotFinite === undefined) return values;
  const [, height, width, channels] = place.dims;
  const frame = place.firstFrame + Math.floor(firstNotFinite / (height * width * channels));
  throw new VdError({
    ...{ code: "weights", where, expected: "finite results" },
    got: `${values[firstNotFinite]} in frame ${frame} of the result, from 0`,
    hint: "Either float16 has overflowed, then open the model with dtype bfloat16, or the weights are damaged.",
  });
}

/** The frames `begin` to `end` of a clip, without a copy. */
export function framesOf({ values, dims }: Clip, begin: number, end: number): Clip {
  const [, height, width, channels] = dims;
  const size = height * width * channels;
  return { values: values.subarray(begin * size, end * size), dims: [end - begin, height, width, channels] };
}

/** Several pieces in a row as one clip; all have the same height, width and channels. */
export function joinClips(pieces: readonly Clip[]): Clip {
  if (pieces.length === 1) return pieces[0]!;
  const [, height, width, channels] = pieces[0]!.dims;
  const frames = pieces.reduce((sum, { dims }) => sum + dims[0], 0);
  const values = new Float32Array(frames * height * width * channels);
  let at = 0;
  for (const piece of pieces) {
    values.set(piece.values, at);
    at += piece.values.length;
  }
  return { values, dims: [frames, height, width, channels] };
}

/** Takes pieces as they come: while one is taken the next one is computed. */
export async function takePieces(
  pieces: AsyncGenerator<Clip, void, void>,
  take: (piece: Clip) => Promise<void>,
): Promise<void> {
  try {
    for (let piece = await pieces.next(); !piece.done; ) {
      const next = pieces.next();
      next.catch(() => undefined); // It may fail while this one is taken.
      await take(piece.value);
      piece = await next;
    }
  } finally {
    await pieces.return();
  }
}
