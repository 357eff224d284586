import { FINITE, FLOATS_32, OBJECT, optional, requireArgument, requireFields, VdError } from "@vd/kernels-native";
import { type Pausable, pausable, runAtOnce } from "@vd/tensor";
import { checkPixels } from "../pictures/rgb-image";

/** How many frames of which size. */
export interface FramesShape {
  readonly numFrames: number;
  readonly height: number;
  readonly width: number;
}

/** Distances in elements between neighbours of a tensor of frames. */
export interface FrameStrides {
  readonly frame: number;
  readonly channel: number;
  readonly row: number;
  readonly column: number;
}

/** Strides of dense [F,3,H,W]. */
function frameMajor({ height, width }: FramesShape): FrameStrides {
  const channel = height * width;
  return { frame: 3 * channel, channel, row: width, column: 1 };
}

/** Adding and taking away 1.5·2^52 leaves no fraction bits: the sum is rounded half to even, as IEEE 754 wants. */
const roundingShift = 1.5 * 2 ** 52;

/** Refuses what are no frames. @throws VdError `attr` */
function requireFrames(where: string, values: unknown, shape: unknown, strides: unknown): void {
  requireArgument(`${where} values`, values, FLOATS_32);
  requireFields(`${where} shape`, shape, { numFrames: FINITE, height: FINITE, width: FINITE });
  requireArgument(`${where} strides`, strides, optional(OBJECT));
}

function checkFrames(values: Float32Array, shape: FramesShape, strides: FrameStrides): void {
  const where = "frames";
  for (const name of ["numFrames", "height", "width"] as const) checkPixels(name, shape[name], where);
  const { numFrames, height, width } = shape;
  const { frame, channel, row, column } = strides;
  const last = (numFrames - 1) * frame + 2 * channel + (height - 1) * row + (width - 1) * column;
  if (last < values.length) return;
  const expected = `at least ${last + 1} values for ${numFrames} frames of ${width}×${height} in 3 channels`;
  throw new VdError({ code: "shape", where, expected, got: `${values.length}` });
}

/** One row of one channel: every `step`-th value, from [-1, 1] to [0, 1] or to 8 bits, to every third of `result`. */
function convertRow(
  values: Float32Array,
  from: number,
  step: number,
  result: Float32Array | Uint8Array,
  to: number,
  width: number,
): void {
  const { fround } = Math;
  const toBytes = result instanceof Uint8Array;
  for (let x = 0; x < width; x++) {
    const shifted = fround(fround(values[from + x * step]! * 0.5) + 0.5);
    const unit = Math.min(Math.max(shifted, 0), 1);
    result[to + 3 * x] = toBytes ? fround(unit * 255) + roundingShift - roundingShift : unit;
  }
}

function* convert<T extends Float32Array | Uint8Array>(
  values: Float32Array,
  shape: FramesShape,
  strides: FrameStrides,
  result: T,
): Pausable<T> {
  const { numFrames, height, width } = shape;
  for (let y = 0; y < numFrames * height; y++) {
    const from = Math.floor(y / height) * strides.frame + (y % height) * strides.row;
    for (let channel = 0; channel < 3; channel++) {
      convertRow(values, from + channel * strides.channel, strides.column, result, y * width * 3 + channel, width);
    }
    yield;
  }
  return result;
}

/**
 * Converts decoded frames, [F,3,H,W] (or laid out by `strides`) nominally in [-1, 1], to 8 bits, [F,H,W,3]: clamp(v/2 +
 * 0.5, 0, 1)·255 in float32, rounded half to even; NaN gives 0. Pauses after each row. Source:
 * huggingface/diffusers@58eb52c image_processor.py `denormalize`, `numpy_to_pil`.
 *
 * @throws VdError `shape` where values are missing
 */
export const framesToUint8 = pausable(function* (
  values: Float32Array,
  shape: FramesShape,
  strides?: FrameStrides,
): Pausable<Uint8Array> {
  requireFrames("framesToUint8", values, shape, strides);
  return yield* levelsOf(values, shape, strides);
});

function* levelsOf(
  values: Float32Array,
  shape: FramesShape,
  strides: FrameStrides = frameMajor(shape),
): Pausable<Uint8Array> {
  checkFrames(values, shape, strides);
  return yield* convert(values, shape, strides, new Uint8Array(shape.numFrames * shape.height * shape.width * 3));
}

/**
 * Decoded frames, [F,3,H,W] (or laid out by `strides`) nominally in [-1, 1], to floats in [0, 1], [F,H,W,3]: clamp(v/2
 * + 0.5, 0, 1). Source: huggingface/diffusers@58eb52c video_processor.py `postprocess_video` to "np".
 *
 * @throws VdError `shape` where values are missing
 */
export function framesToUnit(values: Float32Array, shape: FramesShape, given?: FrameStrides): Float32Array {
  requireFrames("framesToUnit", values, shape, given);
  const strides = given ?? frameMajor(shape);
  checkFrames(values, shape, strides);
  const result = new Float32Array(shape.numFrames * shape.height * shape.width * 3);
  return runAtOnce(convert(values, shape, strides, result));
}
