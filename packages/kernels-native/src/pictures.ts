import {
  arrayOf,
  COUNT,
  FLAG,
  FLOATS_32,
  listOf,
  NUMBER,
  optional,
  requireArgument,
  requireFields,
  type Wanted,
  type WantedFields,
  wholeFrom,
} from "./arguments";
import { awaitNative } from "./errors";
import { loadAddon } from "./load";

/** A picture in memory. */
export interface PicturePixels<Data extends Uint8Array | Float32Array = Uint8Array> {
  readonly width: number;
  readonly height: number;
  /** Bytes [H,W,3], or floats [3,H,W]. Shared memory is used in place and must stay as it is meanwhile; of others the addon makes a copy
   *  before the call returns. */
  readonly data: Data;
}

/** For each sample of a result along one axis, source samples that lie beside each other, and their weights. */
export interface PictureTaps {
  /** [size], the first source sample of each. */
  starts: Int32Array;
  /** [size], how many source samples each has. */
  counts: Int32Array;
  /** [size, room], in 2^-22; what lies behind the `counts` is not used. */
  weights: Int32Array;
}

/** As {@link PictureTaps}, with equally many source samples for each of the result, and weights in float64. */
export interface PictureRuns {
  /** [size], the first source sample of each. */
  first: Int32Array;
  /** Source samples of each. */
  length: number;
  /** [size, length]. */
  weights: Float64Array;
}

/** How many threads do the work on a picture. */
export interface PictureThreads {
  /** All numbers give the same bits. Default: as many as the work is worth, 8 at most. */
  threads?: number | undefined;
}

/** What becomes of numbers from -1 to 1, each operation rounded to float32: those from 0 to 1, less the mean, over the spread. */
export interface PictureNormalisation {
  /** Of each channel, red first. */
  mean: readonly number[];
  /** Of each channel, red first. */
  spread: readonly number[];
}

/** How {@link resamplePicture} works. */
export interface ResampleOptions extends PictureThreads {
  /** Makes planes [3,rows,columns] of the result, normalised. */
  normalisation?: PictureNormalisation | undefined;
}

/** How {@link pictureToPlanes} works. */
export interface PlaneOptions extends PictureThreads {
  /** Where the planes go, as many numbers; default: a new array. One of `sharedFloats` or `allocateFloats` is filled in place, and must be
   *  left alone until then; any other one when all of them are there. */
  into?: Float32Array | undefined;
  /** Adds the numbers to those of `into`, each sum rounded to float32, instead of replacing these. Default false. */
  adds?: boolean | undefined;
}

const SIDES = { width: COUNT, height: COUNT };
const BYTES = arrayOf("Uint8Array");
const POSITIONS = arrayOf("Int32Array");
const LEVELS: Wanted = {
  expected: "a Uint8Array or Float32Array",
  fits: (value) => BYTES.fits(value) || FLOATS_32.fits(value),
};
const TAPS: WantedFields = { starts: POSITIONS, counts: POSITIONS, weights: POSITIONS };
const RUNS: WantedFields = { first: POSITIONS, length: wholeFrom(0), weights: arrayOf("Float64Array") };
const CHANNELS = listOf(NUMBER, 3);
const NORMALISATION: WantedFields = { mean: CHANNELS, spread: CHANNELS };
const THREADS: WantedFields = { threads: optional(wholeFrom(1, 256)) };

/** How many threads the addon is told, which takes 0 for the default. */
function threadsOf(where: string, options: PictureThreads): number {
  requireFields(where, options, THREADS);
  return options.threads ?? 0;
}

/**
 * Resizes a picture of 8 bits on worker threads, along x and then along y, each as sums in 2^-22 that are rounded to 8 bits. Resolves to the
 * bytes of the result, [rows,columns,3]. taps: an axis without them keeps its size.
 *
 * @throws VdError `attr` for arguments of other types, `shape` for sizes that do not fit each other, `layout` for taps outside of the picture
 * @example
 * ```ts
 * import { resizePicture } from "@vd/kernels-native";
 *
 * const picture = { width: 2, height: 1, data: Uint8Array.of(0, 0, 0, 100, 200, 50) };
 * const mean = { starts: Int32Array.of(0), counts: Int32Array.of(2), weights: new Int32Array(2).fill(2 ** 21) };
 * console.log(await resizePicture(picture, { x: mean })); // 50 100 25
 * ```
 */
export async function resizePicture(
  picture: PicturePixels,
  taps: { x?: PictureTaps | undefined; y?: PictureTaps | undefined },
  options: PictureThreads = {},
): Promise<Uint8Array<ArrayBuffer>> {
  requireFields("resizePicture picture", picture, { ...SIDES, data: BYTES });
  requireFields("resizePicture taps", taps, {});
  const { x, y } = taps;
  if (x !== undefined) requireFields("resizePicture x", x, TAPS);
  if (y !== undefined) requireFields("resizePicture y", y, TAPS);
  const threads = threadsOf("resizePicture", options);
  const { width, height, data } = picture;
  const along = [x?.starts, x?.counts, x?.weights, y?.starts, y?.counts, y?.weights] as const;
  return awaitNative(() => loadAddon().resizePicture(data, width, height, ...along, threads));
}

/**
 * Resamples a picture on worker threads, along x and then along y: sums in float64 in the order of the runs, those along x rounded to
 * float32, and so are those along y. Resolves to the numbers of the result, [rows,columns,3]. Bytes stand for the numbers that `levels` has
 * for each of the 256; floats are in [0, 1] and taken from [-1, 1]. With a `normalisation` the result is normalised planes instead.
 *
 * @throws VdError `attr` for arguments of other types, `shape` for sizes that do not fit each other, `layout` for runs outside of the picture
 */
export async function resamplePicture(
  picture: PicturePixels<Uint8Array | Float32Array>,
  runs: { x: PictureRuns; y: PictureRuns },
  levels: Readonly<Float32Array>,
  options: ResampleOptions = {},
): Promise<Float32Array<ArrayBuffer>> {
  requireFields("resamplePicture picture", picture, { ...SIDES, data: LEVELS });
  requireFields("resamplePicture runs", runs, {});
  const { x, y } = runs;
  requireFields("resamplePicture x", x, RUNS);
  requireFields("resamplePicture y", y, RUNS);
  requireArgument("resamplePicture levels", levels, FLOATS_32);
  const threads = threadsOf("resamplePicture", options);
  const { normalisation } = options;
  if (normalisation !== undefined) requireFields("resamplePicture normalisation", normalisation, NORMALISATION);
  const { width, height, data } = picture;
  const along = [x.first, x.length, x.weights, y.first, y.length, y.weights] as const;
  const [mean, spread] = [normalisation?.mean, normalisation?.spread].map((each) => each && Float32Array.from(each));
  return awaitNative(() =>
    loadAddon().resamplePicture(data, width, height, levels as Float32Array, ...along, mean, spread, threads),
  );
}

/**
 * Returns the numbers that the bytes of a picture stand for, taken apart into planes on worker threads: [pixels,3] to [3,pixels]. levels: the
 * number of each of the 256.
 *
 * @throws VdError `attr` for arguments of other types, `shape` for lengths that do not fit, `layout` for a target that lies in the pixels or
 *   was taken away meanwhile
 * @example
 * ```ts
 * import { pictureToPlanes, sharedFloats } from "@vd/kernels-native";
 *
 * const halves = Float32Array.from({ length: 256 }, (_, level) => level / 2);
 * const into = sharedFloats(6).fill(1000);
 * console.log(await pictureToPlanes(Uint8Array.of(1, 2, 3, 4, 5, 6), halves, { into, adds: true })); // 1000.5, 1002, 1001, …
 * ```
 */
export async function pictureToPlanes(
  pixels: Uint8Array,
  levels: Readonly<Float32Array>,
  options: PlaneOptions = {},
): Promise<Float32Array> {
  requireArgument("pictureToPlanes pixels", pixels, BYTES);
  requireArgument("pictureToPlanes levels", levels, FLOATS_32);
  const threads = threadsOf("pictureToPlanes", options);
  requireFields("pictureToPlanes", options, { into: optional(FLOATS_32), adds: optional(FLAG) });
  const { into, adds = false } = options;
  return awaitNative(() => loadAddon().pictureToPlanes(pixels, levels as Float32Array, into, adds, threads));
}
