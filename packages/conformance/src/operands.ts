import {
  allocateBuffer,
  COUNT,
  type DeviceBuffer,
  type DType,
  environment,
  FINITE,
  listOf,
  NUMBER,
  requireArgument,
  requireFields,
  requireOptions,
  spanOf,
  TEXT,
  type WantedFields,
  wholeFrom,
} from "@vd/kernels-native";
import { type Fill, type Operand, operandOf, type TensorSpec } from "@vd/kernels-native/contract";
import type { Plain } from "@vd/kernels-native/references";
import {
  elementBytes,
  fromBfloat16Array,
  fromFloat8Array,
  fromFloat16Array,
  makeStorage,
  type Tensor,
  toBfloat16Array,
  toFloat8Array,
  toFloat16Array,
} from "@vd/tensor";

/** Bytes in front of and behind every tensor that nothing may touch. */
const ZONE_BYTES = 128;
/** Behind the last element; none where a sanitizer watches the buffer's end, which sees reads as well. */
const END_ZONE_BYTES = environment.sanitized() ? 0 : ZONE_BYTES;
/** Every byte that is no element: a NaN in all float types, so that reading it shows, and so does writing it. */
const POISON = 0xff;

/** Numbers in [0, 1) from a seed. Source: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ELEMENTS = wholeFrom(0);
const NORMAL: WantedFields = { mean: FINITE, deviation: FINITE };
const VALUES: WantedFields = { values: listOf(NUMBER) };

/** Refuses what is no fill. @throws VdError `attr` */
function requireFill(where: string, fill: Fill): void {
  if (fill === "flags") return;
  requireOptions(where, fill);
  requireFields(where, fill, "values" in fill ? VALUES : NORMAL);
}

const hashOf = (text: string) =>
  [...text].reduce((hash, c) => Math.imul(hash ^ c.codePointAt(0)!, 0x01000193), 0x811c9dc5);

/** Returns `count` numbers that follow from `label`. rowLength: of a row of flags, whose first element is 1.
 *  @throws VdError `attr` for what is no label, no count and no fill */
export function numbers(
  label: string,
  count: number,
  fill: Fill = { mean: 0, deviation: 1 },
  rowLength = 1,
): Float32Array {
  requireArgument("numbers label", label, TEXT);
  requireArgument("numbers count", count, ELEMENTS);
  requireFill("numbers fill", fill);
  requireArgument("numbers rowLength", rowLength, COUNT);
  const next = uniform(hashOf(label));
  const values = new Float32Array(count);
  if (fill === "flags") return values.map((_, i) => Number(i % rowLength === 0 || next() < 0.6));
  if ("values" in fill) return values.map((_, i) => fill.values[i % fill.values.length]!);
  for (let i = 0; i < count; i++) {
    const radius = Math.sqrt(-2 * Math.log(1 - next()));
    values[i] = fill.mean + fill.deviation * radius * Math.cos(2 * Math.PI * next());
  }
  return values;
}

type Stored = Float32Array | Uint16Array | Int32Array | Uint8Array | Int8Array;

function encode(values: Float32Array, dtype: DType): Stored {
  if (dtype === "f16") return toFloat16Array(values);
  if (dtype === "bf16") return toBfloat16Array(values);
  if (dtype === "i32") return Int32Array.from(values);
  if (dtype === "f8e4m3") return toFloat8Array(values);
  if (dtype === "i8") return Int8Array.from(values, (value) => Math.max(-127, Math.min(Math.round(value), 127)));
  return dtype === "u8" ? Uint8Array.from(values) : values;
}

function decode(stored: Stored, dtype: DType): Float64Array {
  if (dtype === "f16") return Float64Array.from(fromFloat16Array(stored as Uint16Array));
  if (dtype === "bf16") return Float64Array.from(fromBfloat16Array(stored as Uint16Array));
  if (dtype === "f8e4m3") return Float64Array.from(fromFloat8Array(stored as Uint8Array));
  if (dtype === "i8") return Float64Array.from(new Int8Array(stored.buffer, stored.byteOffset, stored.byteLength));
  return Float64Array.from(stored);
}

/** A tensor in a buffer of its own, with untouchable zones around it and in its gaps. */
export class PlacedTensor {
  readonly buffer: DeviceBuffer;
  readonly tensor: Tensor;
  private bytesBefore: Uint8Array | undefined;

  constructor(name: string, operand: Operand, constant: boolean) {
    const { dims, dtype = "f32", gap = 0, shiftBytes = 0 } = operand;
    const pitch = dims.at(-1)! + gap;
    const byteOffset = ZONE_BYTES + shiftBytes;
    const bytes = byteOffset + spanOf(dims, pitch) * elementBytes(dtype) + END_ZONE_BYTES;
    this.buffer = allocateBuffer(bytes);
    this.buffer.fillSync(POISON);
    const place = { buffer: this.buffer, byteOffset: 0 };
    const storage = makeStorage(constant ? "weights" : "state", bytes, name, place);
    this.tensor = { storage, dtype, dims, pitch, byteOffset };
  }

  /** Writes the elements and returns what is stored; u8 flags come back as what they add to scores. */
  write(values: Float32Array): Plain {
    const { dims, pitch, byteOffset, dtype } = this.tensor;
    const stored = encode(values, dtype);
    const [item, channels] = [elementBytes(dtype), dims.at(-1)!];
    for (let pixel = 0; pixel * channels < stored.length; pixel++)
      this.buffer.writeSync(stored.slice(pixel * channels, (pixel + 1) * channels), byteOffset + pixel * pitch * item);
    this.bytesBefore = this.bytes();
    const data = decode(stored, dtype);
    return { dims, data: dtype === "u8" ? data.map((flag) => (flag ? 0 : Number.NEGATIVE_INFINITY)) : data };
  }

  /** Spoils the elements, so that a result must be written to be right. */
  poison(): void {
    this.buffer.fillSync(POISON);
  }

  /** The elements, and how many bytes outside them have changed. */
  read(): { values: Float64Array; spoiledBytes: number } {
    const { dims, pitch, byteOffset, dtype } = this.tensor;
    const [item, channels] = [elementBytes(dtype), dims.at(-1)!];
    const all = this.bytes();
    const numPixels = dims.reduce((product, dim) => product * dim, 1) / channels;
    const elements = new Uint8Array(numPixels * channels * item);
    for (let pixel = 0; pixel < numPixels; pixel++) {
      const start = byteOffset + pixel * pitch * item;
      elements.set(all.subarray(start, start + channels * item), pixel * channels * item);
      all.fill(POISON, start, start + channels * item);
    }
    let spoiledBytes = 0;
    for (const byte of all) if (byte !== POISON) spoiledBytes++;
    const Type = { 4: Float32Array, 2: Uint16Array, 1: Uint8Array }[item]!;
    return {
      values: decode(new Type(elements.buffer), dtype),
      spoiledBytes,
    };
  }

  /** Puts back all bytes of the buffer as {@link bytes} returned them. */
  restore(bytes: Uint8Array): void {
    this.buffer.writeSync(bytes);
    this.bytesBefore = bytes;
  }

  /** True if no byte has changed since {@link write}. */
  untouched(): boolean {
    return Buffer.compare(this.bytes(), this.bytesBefore!) === 0;
  }

  /** All bytes of the buffer, gaps and zones included. */
  bytes(): Uint8Array {
    return this.buffer.readSync(new Uint8Array(this.buffer.bytes));
  }

  /** Frees the buffer. */
  free(): void {
    this.buffer.freeSync();
  }
}

/** Places operand `name` and fills it with the numbers that follow from `label`. */
export function placeOperand(
  label: string,
  name: string,
  given: Operand | readonly number[],
  spec: TensorSpec | undefined,
): { placed: PlacedTensor; plain: Plain } {
  const operand = operandOf(given);
  const placed = new PlacedTensor(name, operand, spec?.constant === true && operand.constant !== false);
  const count = operand.dims.reduce((product, dim) => product * dim, 1);
  const plain = placed.write(numbers(`${label}.${name}`, count, operand.fill, operand.dims.at(-1)));
  return { placed, plain };
}
