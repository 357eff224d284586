import { types } from "node:util";
import {
  countOf,
  type DeviceBuffer,
  type DType,
  type FloatsRead,
  having,
  requireArgument,
  shown,
  VdError,
  wholeFrom,
} from "@vd/kernels-native";
import { fromFloat8Array, toFloat8Array } from "./float8";
import { fromBfloat16Array, fromFloat16Array, toBfloat16Array, toFloat16Array } from "./half";
import { describe, elementBytes, requireTensor, type Tensor } from "./tensor";
import { requireArray } from "./typed-arrays";

type HostArray = Float32Array | Uint16Array | Int32Array | Uint8Array | Int8Array;

/** True for typed arrays whose elements are numbers. */
const hasNumbers = (data: ArrayLike<number>): boolean =>
  ArrayBuffer.isView(data) && !(data instanceof BigInt64Array || data instanceof BigUint64Array);

/** Refuses lists of anything but numbers: they would be stored as NaN, or a text as what it reads like. @throws VdError `attr` */
function requireNumbers(where: string, data: ArrayLike<number>): void {
  if (hasNumbers(data)) return;
  for (let i = 0; i < data.length; i++)
    if (typeof data[i] !== "number")
      throw new VdError({ code: "attr", where, expected: "numbers", got: `${shown(data[i])} at place ${i}` });
}

function asFloats(where: string, data: ArrayLike<number>): Float32Array {
  if (data instanceof Float32Array) return data;
  requireNumbers(where, data);
  return Float32Array.from(data);
}

/** Arrays of whole numbers, with the least and the largest that they hold. */
const WHOLE = {
  i32: { make: Int32Array, min: -(2 ** 31), max: 2 ** 31 - 1 },
  i8: { make: Int8Array, min: -128, max: 127 },
  u8: { make: Uint8Array, min: 0, max: 255 },
} as const;

/** Whole numbers as they are stored; an array would take others modulo its range, offsets out of range for good ones. */
function encodeWhole(where: string, data: ArrayLike<number>, dtype: keyof typeof WHOLE): HostArray {
  const { make, min, max } = WHOLE[dtype];
  if (data instanceof make) return data;
  const stored = make.from(hasNumbers(data) ? data : Array.from(data, Number));
  for (let i = 0; i < stored.length; i++)
    if (stored[i] !== Number(data[i])) {
      const expected = `whole numbers from ${min} to ${max} for ${dtype}`;
      throw new VdError({ code: "attr", where, expected, got: String(data[i]) });
    }
  return stored;
}

/** Numbers as the element type that the device stores. @throws VdError `attr` */
function encode(where: string, data: ArrayLike<number>, dtype: DType): HostArray {
  switch (dtype) {
    case "f32":
      return asFloats(where, data);
    case "f16":
      return data instanceof Uint16Array ? data : toFloat16Array(asFloats(where, data));
    case "bf16":
      return data instanceof Uint16Array ? data : toBfloat16Array(asFloats(where, data));
    case "f8e4m3":
      return data instanceof Uint8Array ? data : toFloat8Array(asFloats(where, data));
    default:
      return encodeWhole(where, data, dtype);
  }
}

/**
 * Stored bytes as float32 numbers.
 *
 * @throws VdError `dtype` for what are no bytes and no type, `shape` for a number of bytes that no elements have
 */
export function decodeStored(bytes: Uint8Array, dtype: DType): Float32Array {
  requireArray("decodeStored", bytes, "Uint8Array");
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const count = byteLength / elementBytes(dtype);
  if (!Number.isInteger(count))
    throw new VdError({
      code: "shape",
      where: "decodeStored",
      expected: `whole elements of ${dtype}`,
      got: `${byteLength} bytes`,
    });
  switch (dtype) {
    case "f32":
      return new Float32Array(buffer, byteOffset, count);
    case "f16":
      return fromFloat16Array(new Uint16Array(buffer, byteOffset, count));
    case "bf16":
      return fromBfloat16Array(new Uint16Array(buffer, byteOffset, count));
    case "i32":
      return Float32Array.from(new Int32Array(buffer, byteOffset, count));
    case "i8":
      return Float32Array.from(new Int8Array(buffer, byteOffset, count));
    case "f8e4m3":
      return fromFloat8Array(new Uint8Array(buffer, byteOffset, count));
    default:
      return Float32Array.from(new Uint8Array(buffer, byteOffset, count));
  }
}

/** Refuses data that are not as many numbers as `tensor` has. @throws VdError `shape` */
export function checkCount(
  where: string,
  tensor: Pick<Tensor, "dims" | "dtype">,
  data: ArrayLike<number> | undefined,
): void {
  if (data?.length !== countOf(tensor.dims))
    throw new VdError({
      code: "shape",
      where,
      expected: `${countOf(tensor.dims)} numbers for ${describe(tensor)}`,
      got: String(data?.length ?? data),
    });
}

/**
 * Writes a packed tensor's elements; 16-bit data may come as raw bits in a Uint16Array, float8 in a Uint8Array.
 *
 * @throws VdError `shape`, or `attr` for what is no number and for numbers that a type of whole numbers cannot hold
 */
export function writeHostSync(buffer: DeviceBuffer, base: number, tensor: Tensor, data: ArrayLike<number>): void {
  checkCount(tensor.storage.name, tensor, data);
  buffer.writeSync(encode(tensor.storage.name, data, tensor.dtype), base + tensor.byteOffset);
}

/** Elements that are copied at a stretch, and elements that are converted: well below a millisecond, even where a copy
 *  takes new pages from the operating system. */
const ELEMENTS_PER_COPY = 1 << 17;
const ELEMENTS_PER_CONVERSION = 1 << 15;

/** Arrays that hold elements as the device stores them. */
const STORED = {
  ...{ f32: Float32Array, f16: Uint16Array, bf16: Uint16Array, i32: Int32Array, i8: Int8Array },
  ...{ f8e4m3: Uint8Array, u8: Uint8Array },
} as const satisfies Record<DType, unknown>;

/** Pieces that are on their way to the device at a time. */
const PIECES_UNDER_WAY = 4;

/** How many elements go to the device at once: all where the addon reads them in place, in shared memory. */
function pieceLength(data: ArrayLike<number>, dtype: DType): number {
  if (!(data instanceof STORED[dtype]) && !isRoundedByAddon(data, dtype)) return ELEMENTS_PER_CONVERSION;
  return types.isSharedArrayBuffer((data as HostArray).buffer) ? data.length : ELEMENTS_PER_COPY;
}

/** Types that the addon itself makes of float32 numbers, and into them, on its worker. */
const isConverted = (dtype: DType) => dtype === "f32" || dtype === "f16" || dtype === "bf16";

const isRoundedByAddon = (data: ArrayLike<number>, dtype: DType): data is Float32Array =>
  data instanceof Float32Array && isConverted(dtype);

const BUFFER = having("a buffer", ["write", "writeFloats"]);

/** Refuses what is no place to write to. who: the function that was called. */
function requirePlace(who: string, buffer: DeviceBuffer, base: number, tensor: Tensor): void {
  requireArgument(`${who} buffer`, buffer, BUFFER);
  requireArgument(`${who} base`, base, wholeFrom(0));
  requireTensor(`${who} tensor`, tensor);
}

/** Does what {@link writeHostSync} does, off the event loop, at once from arrays of `sharedFloats` and piece by piece from others. `data` must
 *  not change meanwhile. */
export async function writeHost(
  buffer: DeviceBuffer,
  base: number,
  tensor: Tensor,
  data: ArrayLike<number>,
): Promise<void> {
  requirePlace("writeHost", buffer, base, tensor);
  await send(buffer, base, tensor, data);
}

/**
 * Does what {@link writeHost} does with numbers for floats of 16 and 32 bits, and tells their largest magnitude, NaN where one is. All are written, whatever
 * they are.
 *
 * @throws VdError `dtype` for tensors and arrays of other types, `shape`
 */
export async function writeCheckedHost(
  buffer: DeviceBuffer,
  base: number,
  tensor: Tensor,
  data: Float32Array,
): Promise<number> {
  requirePlace("writeCheckedHost", buffer, base, tensor);
  if (!isRoundedByAddon(data, tensor.dtype)) {
    const expected = "a Float32Array for floats of 16 or 32 bits";
    const got = `${Object.prototype.toString.call(data)} for ${describe(tensor)}`;
    throw new VdError({ code: "dtype", where: tensor.storage.name, expected, got });
  }
  return send(buffer, base, tensor, data);
}

/** Returns the largest magnitude of what the addon rounds. */
async function send(buffer: DeviceBuffer, base: number, tensor: Tensor, data: ArrayLike<number>): Promise<number> {
  const count = countOf(tensor.dims);
  const start = base + tensor.byteOffset;
  const length = pieceLength(data, tensor.dtype);
  const sendFrom = async (at: number): Promise<number> => {
    checkCount(tensor.storage.name, tensor, data); // Each time: the caller may have transferred the memory to another thread meanwhile.
    const offset = start + at * elementBytes(tensor.dtype);
    if (isRoundedByAddon(data, tensor.dtype))
      return buffer.writeCheckedFloats(data.subarray(at, at + length), tensor.dtype, offset);
    const piece = ArrayBuffer.isView(data)
      ? (data as Float32Array).subarray(at, at + length)
      : Array.prototype.slice.call(data, at, at + length);
    await buffer.write(encode(tensor.storage.name, piece, tensor.dtype), offset);
    return 0;
  };
  const underWay: Promise<number>[] = [];
  let largest = 0;
  try {
    for (let at = 0; at < count; at += length) {
      const piece = sendFrom(at);
      piece.catch(() => undefined); // It may fail while another one is waited for.
      underWay.push(piece);
      if (underWay.length >= PIECES_UNDER_WAY) largest = Math.max(largest, await underWay.shift()!);
    }
    return Math.max(largest, ...(await Promise.all(underWay)));
  } finally {
    // The caller may free the buffer then.
    await Promise.allSettled(underWay);
  }
}

/** Bytes from a tensor's first element to its last, gaps between pixels among them. */
function spanBytes({ dims, dtype, pitch }: Tensor): number {
  const channels = dims[dims.length - 1] ?? 1;
  return ((countOf(dims) / channels - 1) * pitch + channels) * elementBytes(dtype);
}

/** The elements of a tensor in the bytes of its span, as packed float32 numbers. */
function unpack(bytes: Uint8Array, { dims, dtype, pitch }: Tensor): Float32Array {
  const span = decodeStored(bytes, dtype);
  const channels = dims[dims.length - 1] ?? 1;
  if (pitch === channels) return span;
  const packed = new Float32Array(countOf(dims));
  for (let i = 0; i * channels < packed.length; i++)
    packed.set(span.subarray(i * pitch, i * pitch + channels), i * channels);
  return packed;
}

/** Reads a tensor's elements as float32 numbers; views with gaps are packed. */
export function readHostSync(buffer: DeviceBuffer, base: number, tensor: Tensor): Float32Array {
  return unpack(buffer.readSync(new Uint8Array(spanBytes(tensor)), base + tensor.byteOffset), tensor);
}

/** Does what {@link readHostSync} does, for floats of 16 and 32 bits all of it off the event loop, and tells of these which is the
 *  first that is not finite. into: what to fill and give instead of a new array, as many numbers. @throws VdError `shape` */
export async function readHost(
  buffer: DeviceBuffer,
  base: number,
  tensor: Tensor,
  into?: Float32Array,
): Promise<FloatsRead> {
  const { dims, dtype, pitch } = tensor;
  const byteOffset = base + tensor.byteOffset;
  if (into) checkCount(tensor.storage.name, tensor, into);
  if (!isConverted(dtype)) {
    const values = unpack(await buffer.readBytes(byteOffset, spanBytes(tensor)), tensor);
    into?.set(values);
    return { values: into ?? values };
  }
  const channels = dims[dims.length - 1] ?? 1;
  return buffer.readCheckedFloats({ byteOffset, dtype, pixels: countOf(dims) / channels, channels, pitch }, into);
}

/**
 * Reads pixels [..,H,W,C] of floats of 16 or 32 bits as planes [..,C,H,W] of float32 numbers, off the event loop, and tells which number is the first
 * that is not finite. into: as of {@link readHost}.
 *
 * @throws VdError `dtype` for other types, `shape`
 */
export async function readHostPlanes(
  buffer: DeviceBuffer,
  base: number,
  tensor: Tensor,
  into?: Float32Array,
): Promise<FloatsRead> {
  const { dims, dtype, pitch, storage } = tensor;
  const [height = 1, width = 1, channels = 1] = dims.slice(-3);
  if (into) checkCount(storage.name, tensor, into);
  if (!isConverted(dtype)) {
    const expected = "floats of 16 or 32 bits to read as planes";
    throw new VdError({ code: "dtype", where: storage.name, expected, got: describe(tensor) });
  }
  const region = { dtype, pixels: countOf(dims) / channels, channels, pitch, planePixels: height * width };
  return buffer.readCheckedFloats({ byteOffset: base + tensor.byteOffset, ...region }, into);
}
