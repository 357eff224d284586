import {
  allocateBuffer,
  allocateFloats,
  countOf,
  type DeviceBuffer,
  type DType,
  FUNCTION,
  largestMagnitude,
  oneOfThese,
  optional,
  QUANTIZED,
  requireFields,
  VdError,
} from "@vd/kernels-native";
import { FLOAT8_E4M3_MAX, toFloat8Array } from "../float8";
import { makeStorage, packedTensor } from "../graph";
import { decodeStored } from "../host";
import { type Pausable, runAtOnce, runInSlices } from "../pausable";
import { elementBytes, requireTensor, type Storage, type Tensor } from "../tensor";
import type { ChangeRow } from "./changed-storage";
import { RowRounding } from "./row-rounding";
import { foldUpsampling } from "./upsampling-filter";

/** An element type that scales belong to. */
export type QuantizedType = "f8e4m3" | "i8";

/** A weight in 8 bits. */
export interface QuantizedWeight {
  /** Codes, in the weight's shape. */
  weight: Tensor;
  /** [K, 1], [K, C/128 rounded up] or [1, 1]: what the codes of a row, of a block of 128 of its channels, or of all rows are to be multiplied with. */
  weightScale: Tensor;
}

/** Channels of a block with a scale of its own. */
const BLOCK = 128;
/** The largest code of each type. */
export const LARGEST_CODES = { f8e4m3: FLOAT8_E4M3_MAX, i8: 127 } as const;
/** No scale is smaller, so that its inverse is finite. */
const LEAST_SCALE = 2 ** -126;
/** Elements that are converted between two pauses. */
const PIECE = 1 << 16;
/** Codes that the CPU's kernels make at a time. */
const ROUNDED_AT_ONCE = 1 << 22;

function codesOf(values: Float32Array, dtype: QuantizedType): Uint8Array {
  if (dtype === "f8e4m3") return toFloat8Array(values);
  const codes = new Int8Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const floor = Math.floor(values[i]!);
    const rest = values[i]! - floor;
    const nearest = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
    codes[i] = Math.max(-127, Math.min(nearest, 127));
  }
  return new Uint8Array(codes.buffer);
}

/** NaN counts for none. */
function largestOf(values: Float32Array): number {
  let largest = 0;
  for (const value of values) if (Math.abs(value) > largest) largest = Math.abs(value);
  return largest;
}

/** As `quantize` does it. */
function divide(values: Float32Array, scale: number): void {
  const inverse = Math.fround(1 / scale);
  for (let i = 0; i < values.length; i++) values[i] = values[i]! * inverse;
}

/** Rows whose codes do not lie where their numbers did. */
interface RowLayout {
  /** Codes of all rows. */
  readonly count: number;
  /** What the numbers of a row become before they are rounded. */
  readonly fold: (values: Float32Array) => Float32Array;
  /** Puts the codes of a row where they belong among all. */
  readonly put: (codes: Uint8Array, row: number, all: Uint8Array) => void;
}

/** What a weight becomes: made once, when either storage is first needed. */
class Quantization {
  private made: { codes: DeviceBuffer; scales: DeviceBuffer } | undefined;
  private making: Promise<void> | undefined;

  constructor(
    private readonly source: Tensor,
    private readonly dtype: QuantizedType,
    private readonly width: number,
    readonly numScales: number,
    private readonly change: ChangeRow | undefined,
    private readonly layout?: RowLayout,
  ) {}

  /** Whether all rows share one scale. */
  private get isShared(): boolean {
    return this.numScales < this.source.dims[0]!;
  }

  /** Makes it at once. */
  get buffers() {
    this.made ??= runAtOnce(this.convert());
    return this.made;
  }

  /** Makes it off the event loop, on all threads. */
  async fill(): Promise<void> {
    if (this.made) return;
    this.making ??= (async () => {
      await this.source.storage.fill?.();
      const made = await this.convertBeside();
      this.made ??= made;
    })();
    await this.making;
  }

  /** Numbers of a row of the weight, and of a row of codes. */
  private get perRow() {
    const [rows, count] = [this.source.dims[0]!, countOf(this.source.dims)];
    return { numbers: count / rows, codes: (this.layout?.count ?? count) / rows };
  }

  /** What {@link convert} does, by the CPU's kernels. */
  private async convertBeside(): Promise<{ codes: DeviceBuffer; scales: DeviceBuffer }> {
    const { dtype, layout, perRow } = this;
    const numRows = this.source.dims[0]!;
    const rows = Math.min(numRows, Math.ceil(ROUNDED_AT_ONCE / perRow.codes));
    const shared = this.isShared ? await this.scaleOfAll(rows) : undefined;
    const rounding = await RowRounding.open({
      ...{ rows, width: perRow.codes, dtype, shared },
      scales: this.numScales / numRows,
    });
    const codes = allocateBuffer(perRow.codes * numRows);
    const placed = layout && new Uint8Array(layout.count);
    const scales = new Float32Array(this.numScales).fill(shared ?? 0);
    const stored = layout ? allocateFloats(rows * perRow.numbers) : rounding.values;
    try {
      for (let next = 0; next < numRows; next += rows) {
        // The last rows may be rounded a second time.
        const first = Math.min(next, numRows - rows);
        await this.readRows(first, rows, stored);
        await runInSlices(this.prepareRows(first, stored, rounding.values));
        const made = await rounding.round();
        scales.set(made, first * (made.length / rows));
        if (placed) this.putRows(await rounding.codes(), first, placed);
        else await rounding.copyCodes(codes, first * perRow.codes);
      }
    } finally {
      await rounding.free();
    }
    if (placed) await codes.write(placed);
    const scaleBuffer = allocateBuffer(scales.byteLength);
    await scaleBuffer.write(scales);
    return { codes, scales: scaleBuffer };
  }

  /** The scale that all rows share, found in `rows` of them at a time. */
  private async scaleOfAll(rows: number): Promise<number> {
    const values = allocateFloats(rows * this.perRow.numbers);
    const numRows = this.source.dims[0]!;
    let largest = 0;
    for (let next = 0; next < numRows; next += rows) {
      const first = Math.min(next, numRows - rows);
      await this.readRows(first, rows, values);
      await runInSlices(this.prepareRows(first, values, values));
      largest = Math.max(largest, largestMagnitude(values));
    }
    return this.scaleFor(largest);
  }

  /** Rows of the weight as float32. */
  private async readRows(first: number, rows: number, into: Float32Array): Promise<void> {
    const { storage, dtype, byteOffset } = this.source;
    const place = storage.place!;
    const { numbers } = this.perRow;
    const from = place.byteOffset + byteOffset + first * numbers * elementBytes(dtype);
    await place.buffer.readCheckedFloats({ byteOffset: from, dtype, pixels: rows, channels: numbers }, into);
  }

  /** Changes and folds rows before they are rounded. Pauses after each. */
  private *prepareRows(first: number, stored: Float32Array, values: Float32Array): Pausable<void> {
    const { change, layout, perRow } = this;
    if (!change && !layout) return;
    for (let row = 0; row < stored.length / perRow.numbers; row++) {
      const numbers = stored.subarray(row * perRow.numbers, (row + 1) * perRow.numbers);
      change?.(numbers, first + row);
      if (layout) values.set(layout.fold(numbers), row * perRow.codes);
      yield;
    }
  }

  private putRows(codes: Uint8Array, first: number, all: Uint8Array): void {
    const width = this.perRow.codes;
    for (let row = 0; row < codes.length / width; row++)
      this.layout!.put(codes.subarray(row * width, (row + 1) * width), first + row, all);
  }

  private *convert(): Pausable<{ codes: DeviceBuffer; scales: DeviceBuffer }> {
    const count = countOf(this.source.dims);
    const perRow = count / this.source.dims[0]!;
    const groups = Math.ceil(perRow / this.width);
    const codes = allocateBuffer(this.layout?.count ?? count);
    const placed = this.layout && new Uint8Array(this.layout.count);
    const scales = new Float32Array(this.numScales);
    const shared = this.isShared ? this.scaleFor(this.largestOfAll(perRow)) : undefined;
    if (shared !== undefined) scales.fill(shared);
    let sincePause = 0;
    for (let row = 0; row < this.source.dims[0]!; row++) {
      const stored = this.readChanged(row, perRow);
      const values = this.layout?.fold(stored) ?? stored;
      for (let group = 0; group < groups; group++) {
        const part = placed ? values : values.subarray(group * this.width, (group + 1) * this.width);
        if (shared !== undefined) divide(part, shared);
        else scales[row * groups + group] = this.scale(part);
      }
      if (placed) this.layout!.put(codesOf(values, this.dtype), row, placed);
      else codes.writeSync(codesOf(values, this.dtype), row * perRow);
      sincePause += perRow;
      if (sincePause >= PIECE) {
        sincePause = 0;
        yield;
      }
    }
    if (placed) codes.writeSync(placed);
    const scaleBuffer = allocateBuffer(scales.byteLength);
    scaleBuffer.writeSync(scales);
    return { codes, scales: scaleBuffer };
  }

  /** Elements of the weight as float32. */
  private read(first: number, count: number): Float32Array {
    const { storage, dtype, byteOffset } = this.source;
    const place = storage.place!;
    const bytes = new Uint8Array(count * elementBytes(dtype));
    place.buffer.readSync(bytes, place.byteOffset + byteOffset + first * elementBytes(dtype));
    return decodeStored(bytes, dtype);
  }

  /** A row of the weight, as it is rounded. */
  private readChanged(row: number, perRow: number): Float32Array {
    const values = this.read(row * perRow, perRow);
    this.change?.(values, row);
    return values;
  }

  private largestOfAll(perRow: number): number {
    let largest = 0;
    for (let row = 0; row < this.source.dims[0]!; row++)
      largest = Math.max(largest, largestOf(this.readChanged(row, perRow)));
    return largest;
  }

  private scaleFor(largest: number): number {
    return Math.max(Math.fround(largest / LARGEST_CODES[this.dtype]), LEAST_SCALE);
  }

  /** Divides the numbers of a group by their scale and returns it. */
  private scale(part: Float32Array): number {
    const scale = this.scaleFor(largestOf(part));
    divide(part, scale);
    return scale;
  }
}

/** One of the two storages of a quantized weight. */
class QuantizedStorage implements Storage {
  readonly kind = "weights";
  readonly id: number;

  constructor(
    readonly name: string,
    readonly bytes: number,
    private readonly quantization: Quantization,
    private readonly part: "codes" | "scales",
  ) {
    this.id = makeStorage("weights", bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    return { buffer: this.quantization.buffers[this.part], byteOffset: 0 };
  }

  fill(): Promise<void> {
    return this.quantization.fill();
  }
}

/** What has a scale of its own: the whole weight, a row, or each block of 128 channels of a row. */
export type ScaledPart = "tensor" | "row" | "block";

const ROUNDING = { dtype: optional(oneOfThese(QUANTIZED)), change: optional(FUNCTION) };
const PARTS = { per: optional(oneOfThese(["tensor", "row", "block"] satisfies ScaledPart[])) };

/**
 * A weight as `linear_q8` and `conv_q8` take it, rounded as `quantize` does it. It is made when a plan that uses it is loaded.
 *
 * weight: packed, [K, …] in a float type, e.g. from {@link Weights}. per: what has a scale of its own, rows unless told otherwise; blocks
 * are for linear layers. One scale of all suits float8, which has the same precision over a range of 2^15. change: what happens to each row
 * in float32 before it is rounded.
 *
 * @example
 * ```ts
 * import { Graph, quantizeWeight } from "@vd/tensor";
 *
 * const g = new Graph();
 * const { weight, weightScale } = quantizeWeight(g.constant(Float32Array.of(1, -2, 3, 4), [2, 2]));
 * console.log(weight.dtype, weightScale.dims); // f8e4m3 [ 2, 1 ]
 * ```
 */
export function quantizeWeight(
  weight: Tensor,
  options: { dtype?: QuantizedType; per?: ScaledPart; change?: ChangeRow | undefined } = {},
): QuantizedWeight {
  requireTensor("quantizeWeight", weight);
  requireFields("quantizeWeight", options, { ...ROUNDING, ...PARTS });
  const { dtype = "f8e4m3", per = "row", change } = options;
  const [rows, count] = [weight.dims[0]!, countOf(weight.dims)];
  const width = per === "block" ? BLOCK : count / rows;
  const scales = per === "tensor" ? [1, 1] : [rows, Math.ceil(count / rows / width)];
  const quantization = new Quantization(weight, dtype, width, countOf(scales), change);
  return tensorsOf(quantization, weight, { codes: weight.dims, scales, dtype });
}

/** The tensors of a weight that is made when one of them is first needed. */
function tensorsOf(
  quantization: Quantization,
  { storage: { name } }: Tensor,
  { codes, scales, dtype }: { codes: readonly number[]; scales: readonly number[]; dtype: QuantizedType },
): QuantizedWeight {
  const place = (part: "codes" | "scales", dims: readonly number[], type: DType) => {
    const bytes = countOf(dims) * elementBytes(type);
    return packedTensor(new QuantizedStorage(`${name} (${part})`, bytes, quantization, part), dims, type);
  };
  return { weight: place("codes", codes, dtype), weightScale: place("scales", scales, "f32") };
}

/**
 * The filters of an upsampling convolution as a transposed `conv_q8` takes them, which gives the same results but for the rounding: 4x4
 * taps, each the sum of the 3x3 taps that reach it (in float32), then rounded with a scale for each output channel. They are made when a
 * plan that uses them is loaded.
 *
 * weight: packed, [K,C,1,3,3] in a float type; the codes are [C,K,1,4,4]. change: what happens to the 3x3 taps of each output channel
 * before.
 *
 * @throws VdError `shape` for filters of other sizes
 * @example
 * ```ts
 * import { Graph, quantizeUpsamplingWeight } from "@vd/tensor";
 *
 * const g = new Graph();
 * const filters = g.constant(new Float32Array(16 * 32 * 9).fill(1), [16, 32, 1, 3, 3]);
 * const { weight, weightScale } = quantizeUpsamplingWeight(filters);
 * console.log(weight.dims, weightScale.dims); // [ 32, 16, 1, 4, 4 ] [ 16, 1 ]
 * ```
 */
export function quantizeUpsamplingWeight(
  weight: Tensor,
  options: { dtype?: QuantizedType; change?: ChangeRow | undefined } = {},
): QuantizedWeight {
  requireTensor("quantizeUpsamplingWeight", weight);
  requireFields("quantizeUpsamplingWeight", options, ROUNDING);
  const { dtype = "f8e4m3", change } = options;
  const [k, c, ...sizes] = weight.dims as [number, number, ...number[]];
  if (`${sizes}` !== "1,3,3")
    throw new VdError({
      code: "shape",
      where: "quantizeUpsamplingWeight] [weight",
      expected: "filters [K,C,1,3,3]",
      got: `[${weight.dims}]`,
    });
  const layout: RowLayout = {
    count: c * k * 16,
    fold: foldUpsampling,
    put: (codes, row, all) => {
      for (let channel = 0; channel < c; channel++)
        all.set(codes.subarray(channel * 16, (channel + 1) * 16), (channel * k + row) * 16);
    },
  };
  const quantization = new Quantization(weight, dtype, c * 9, k, change, layout);
  return tensorsOf(quantization, weight, { codes: [c, k, 1, 4, 4], scales: [k, 1], dtype });
}
