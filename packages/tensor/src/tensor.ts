import {
  countOf,
  type DeviceBuffer,
  DTYPES,
  type DType,
  MAX_ELEMENTS,
  requireArgument,
  shown,
  VdError,
  type Wanted,
} from "@vd/kernels-native";

/** What a block of memory is for: it decides who allocates it and how long it lives. */
export type StorageKind = "weights" | "state" | "io" | "arena";

/** A block of memory that tensors are views of. */
export interface Storage {
  readonly id: number;
  readonly kind: StorageKind;
  readonly bytes: number;
  /** For io and state: the name under which it is written and read. */
  readonly name: string;
  /** Where the block lies, for storages that exist before a plan is loaded. */
  readonly place?: { readonly buffer: DeviceBuffer; readonly byteOffset: number };
  /** Makes contents that are made when they are needed, off the event loop. Reading `place` makes them at once. */
  fill?(): Promise<void>;
}

/** A typed view of a storage; the last dimension is contiguous, pixels step by `pitch` elements. */
export interface Tensor {
  readonly storage: Storage;
  readonly dtype: DType;
  readonly dims: readonly number[];
  /** Elements from one pixel or token to the next. */
  readonly pitch: number;
  /** Of the first element in the storage. */
  readonly byteOffset: number;
}

/** Options that every op takes. */
export interface CallOptions {
  /** The row's name in errors and reports; weights' paths by convention. */
  name?: string | undefined;
  /** Where to put the result instead of a new tensor; shape and type must be the result's. */
  out?: Tensor | undefined;
  /** Places for optional further results, by the contract's name. */
  outputs?: Readonly<Record<string, Tensor>> | undefined;
}

/** Bytes of one element. */
export function elementBytes(dtype: DType): number {
  if (!isType(dtype)) failType("elementBytes", dtype);
  return DTYPES[dtype];
}

function failType(where: string, dtype: unknown): never {
  throw new VdError({ code: "dtype", where, expected: Object.keys(DTYPES).join(" or "), got: shown(dtype) });
}

/** Bytes of a packed tensor. */
export const packedBytes = (dims: readonly number[], dtype: DType): number => countOf(dims) * elementBytes(dtype);

/** `f32[1,14,16,16,8]`. */
export function describe(t: Pick<Tensor, "dtype" | "dims">): string {
  requireArgument("describe", t, SHAPED);
  return `${t.dtype}[${t.dims.join(",")}]`;
}

const SHAPED: Wanted = {
  expected: "a tensor, or its type and sizes",
  fits: (value) => Array.isArray((value as Partial<Tensor> | null | undefined)?.dims),
};

/** True for what has the form of a tensor, as a caller without types may have given something else. */
export function isTensor(value: unknown): value is Tensor {
  const { storage, dims, dtype, pitch, byteOffset } = (value ?? {}) as Partial<Tensor>;
  if (typeof storage !== "object" || storage === null || !isWhole(pitch) || !isWhole(byteOffset)) return false;
  return Array.isArray(dims) && isType(dtype);
}

/** A tensor, as an argument. */
export const TENSOR: Wanted = { expected: "a tensor", fits: isTensor };

const isType = (value: unknown): boolean => typeof value === "string" && Object.hasOwn(DTYPES, value);

const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/**
 * Refuses what is no tensor.
 *
 * @throws VdError `attr`
 */
export function requireTensor(where: string, value: unknown): asserts value is Tensor {
  if (isTensor(value)) return;
  throw new VdError({ code: "attr", where, expected: "a tensor", got: value === null ? "null" : typeof value });
}

/**
 * Checks what a new tensor shall be.
 *
 * @throws VdError `shape` or `dtype`
 */
export function checkShape(where: string, dims: readonly number[], dtype: DType): void {
  if (!isType(dtype)) failType(where, dtype);
  const isList = Array.isArray(dims);
  if (isList && dims.every((dim) => Number.isInteger(dim) && dim >= 1) && countOf(dims) <= MAX_ELEMENTS) return;
  const expected = "sizes that are whole numbers of at least 1, and at most 2^46 elements";
  fail(where, expected, isList ? `[${dims.join(",")}]` : String(dims));
}

const channelsOf = (t: Tensor): number => t.dims[t.dims.length - 1] ?? 1;

function fail(where: string, expected: string, got: string): never {
  throw new VdError({ code: "shape", where, expected, got });
}

/**
 * The channels `begin` to `end` (exclusive) of every pixel, without a copy.
 *
 * @throws VdError `shape`, or `attr` for what is no tensor
 */
export function channelRange(t: Tensor, begin: number, end: number): Tensor {
  requireTensor("channelRange", t);
  const channels = channelsOf(t);
  if (!(Number.isInteger(begin) && Number.isInteger(end) && begin >= 0 && begin < end && end <= channels))
    fail("channelRange", `a range inside 0..${channels}`, `${begin}..${end}`);
  const byteOffset = t.byteOffset + begin * elementBytes(t.dtype);
  return { ...t, dims: [...t.dims.slice(0, -1), end - begin], byteOffset };
}

/**
 * The clips `begin` to `end` (exclusive) of a packed batch, without a copy. t: [B,…].
 *
 * @throws VdError `shape`, or `attr` for what is no tensor
 */
export function clipRange(t: Tensor, begin: number, end: number): Tensor {
  requireTensor("clipRange", t);
  const [batch = 0, ...rest] = t.dims;
  if (!(Number.isInteger(begin) && Number.isInteger(end) && begin >= 0 && begin < end && end <= batch))
    fail("clipRange", `a range inside 0..${batch}`, `${begin}..${end}`);
  const byteOffset = t.byteOffset + begin * countOf(rest.slice(0, -1)) * t.pitch * elementBytes(t.dtype);
  return { ...t, dims: [end - begin, ...rest], byteOffset };
}

/**
 * The frames `begin` to `end` (exclusive) of a single clip, without a copy. t: [1,F,…].
 *
 * @throws VdError `shape`, or `attr` for what is no tensor
 */
export function frameRange(t: Tensor, begin: number, end: number): Tensor {
  requireTensor("frameRange", t);
  const [batch, frames = 0, ...rest] = t.dims;
  if (batch !== 1) fail("frameRange", "one clip", describe(t));
  if (!(Number.isInteger(begin) && Number.isInteger(end) && begin >= 0 && begin < end && end <= frames))
    fail("frameRange", `a range inside 0..${frames}`, `${begin}..${end}`);
  const framePixels = countOf(rest.slice(0, -1));
  const byteOffset = t.byteOffset + begin * framePixels * t.pitch * elementBytes(t.dtype);
  return { ...t, dims: [1, end - begin, ...rest], byteOffset };
}

/**
 * The same bytes under other leading dimensions; the last one stays.
 *
 * @throws VdError `shape`, or `attr` for what is no tensor
 */
export function reshape(t: Tensor, dims: readonly number[]): Tensor {
  requireTensor("reshape", t);
  checkShape("reshape", dims, t.dtype);
  const sameChannels = dims[dims.length - 1] === channelsOf(t) || t.pitch === channelsOf(t);
  if (countOf(dims) !== countOf(t.dims) || !sameChannels)
    fail("reshape", `a shape with the elements and channels of ${describe(t)}`, `[${dims.join(",")}]`);
  const channels = dims[dims.length - 1] ?? 1;
  return { ...t, dims, pitch: channels === channelsOf(t) ? t.pitch : channels };
}

/** Pixels as tokens: [B,F,H,W,C] → [B,F,H·W,C]. */
export function tokens(t: Tensor): Tensor {
  requireTensor("tokens", t);
  const [b, f, h, w, c] = t.dims;
  if (t.dims.length !== 5) fail("tokens", "[B,F,H,W,C]", describe(t));
  return reshape(t, [b!, f!, h! * w!, c!]);
}

/** Tokens as pixels: [B,F,H·W,C] → [B,F,H,W,C]. */
export function pixels(t: Tensor, height: number, width: number): Tensor {
  requireTensor("pixels", t);
  const [b, f, , c] = t.dims;
  if (t.dims.length !== 4) fail("pixels", "[B,F,S,C]", describe(t));
  return reshape(t, [b!, f!, height, width, c!]);
}
