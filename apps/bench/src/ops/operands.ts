import { allocateBuffer, type Device, type DeviceBuffer, DTYPES, type DType, OPS } from "@vd/kernels-native";
import { type OpDefinition, type Operand, operandOf } from "@vd/kernels-native/contract";
import {
  fromFloat16Array,
  makeStorage,
  packedTensor,
  type Tensor,
  toBfloat16Array,
  toFloat8Array,
  toFloat16Array,
} from "@vd/tensor";
import { fillFromTable, normalCodes } from "../synth/normal-codes";
import type { BenchCase } from "./cases";

/** Different numbers of an operand at most; larger ones repeat them. A prime, so that no row starts where another did. */
const PATTERN_LENGTH = 1_048_573;

/** What decides the cost of an operand of a timed call. */
export interface OperandShape {
  name: string;
  dims: readonly number[];
  dtype: DType;
  /** A weight, packed once. */
  constant: boolean;
}

/** One operand of a timed call. */
export interface OpOperand extends OperandShape {
  /** Its elements, repeated to the operand's size. */
  pattern: Float32Array;
}

const countOf = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1);
const bytesOf = ({ dims, dtype }: OperandShape) => countOf(dims) * DTYPES[dtype];

const table = normalCodes(0, 1);

function patternOf(label: string, { dims, fill }: Operand, fanIn: number): Float32Array {
  const count = Math.min(countOf(dims), PATTERN_LENGTH);
  if (fill !== undefined && fill !== "flags" && "values" in fill) return Float32Array.from(fill.values);
  const codes = new Uint16Array(count);
  fillFromTable(codes, table, label);
  const values = fromFloat16Array(codes);
  if (fill === "flags") return values.map((value) => Number(value < 1));
  const [mean, deviation] = fill ? [fill.mean, fill.deviation] : [0, fanIn > 1 ? 1 / Math.sqrt(fanIn) : 1];
  return values.map((value) => mean + deviation * value);
}

/** The operands of a case without their numbers; floats in `dtype` where the op takes it. Weights keep the size of what
 *  goes through. */
export function operandShapes({ op, opCase }: BenchCase, dtype: DType): OperandShape[] {
  const specs: OpDefinition["inputs"] = OPS[op].inputs;
  return (Object.entries(opCase.inputs) as [string, Operand | readonly number[]][]).map(([name, given]) => {
    const operand = operandOf(given);
    const spec = specs[name]!;
    const isFloat = (operand.dtype ?? "f32") === "f32" && spec.dtype.includes(dtype);
    const constant = spec.constant === true && operand.constant !== false;
    return { name, dims: operand.dims, dtype: isFloat ? dtype : (operand.dtype ?? "f32"), constant };
  });
}

/** The operands of a case with numbers that its name decides, see {@link operandShapes}. */
export function operandsOf(bench: BenchCase, dtype: DType): OpOperand[] {
  const inputs = bench.opCase.inputs as Record<string, Operand | readonly number[]>;
  return operandShapes(bench, dtype).map((shape) => {
    const operand = operandOf(inputs[shape.name]!);
    const fanIn = shape.name === "weight" ? countOf(operand.dims.slice(1)) : 1;
    return { ...shape, pattern: patternOf(`${bench.name} ${shape.name}`, operand, fanIn) };
  });
}

/** The elements as they lie in memory. */
function storedOf(values: Float32Array, dtype: DType) {
  switch (dtype) {
    case "f16":
      return toFloat16Array(values);
    case "bf16":
      return toBfloat16Array(values);
    case "i32":
      return Int32Array.from(values);
    case "u8":
      return Uint8Array.from(values);
    case "i8":
      return Int8Array.from(values, (value) => Math.max(-127, Math.min(Math.round(value), 127)));
    case "f8e4m3":
      return toFloat8Array(values);
    default:
      return values;
  }
}

/** The elements of an operand as bytes, as they lie in memory. */
export function encode(values: Float32Array, dtype: DType): Uint8Array {
  const stored = storedOf(values, dtype);
  return new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
}

/** Fills a buffer with `pattern` from its first byte on; what has been written is copied on, ever more at a time. */
function fillRepeated(buffer: DeviceBuffer, pattern: Uint8Array, bytes: number): void {
  let written = Math.min(pattern.byteLength, bytes);
  buffer.writeSync(pattern.subarray(0, written));
  while (written < bytes) {
    const more = Math.min(written, bytes - written);
    buffer.copyFromSync(buffer, 0, written, more);
    written += more;
  }
}

/** Copies of a call's operands in a device's memory. */
export interface PlacedOperands {
  /** Per copy: the tensors by name. */
  sets: Readonly<Record<string, Tensor>>[];
  free(): void;
}

/** The operands of one call as tensors without memory: to see what a call of them costs. */
export function unplaced(operands: readonly OperandShape[]): Record<string, Tensor> {
  const tensor = (operand: OperandShape) =>
    packedTensor(makeStorage("state", bytesOf(operand), operand.name), operand.dims, operand.dtype);
  return Object.fromEntries(operands.map((operand) => [operand.name, tensor(operand)]));
}

/**
 * Brings `numSets` copies of the operands into memory: weights, which backends pack, on the host, others on the device.
 *
 * @throws VdError `memory`
 */
export async function placeOperands(
  device: Device,
  operands: readonly OpOperand[],
  numSets: number,
): Promise<PlacedOperands> {
  const buffers: DeviceBuffer[] = [];
  const free = () => {
    for (const buffer of buffers) buffer.freeSync();
  };
  const place = async (operand: OpOperand, pattern: Uint8Array, first: DeviceBuffer | undefined) => {
    const bytes = bytesOf(operand);
    const buffer = operand.constant ? allocateBuffer(bytes) : await device.allocate(bytes);
    buffers.push(buffer);
    if (first) buffer.copyFromSync(first, 0, 0, bytes);
    else fillRepeated(buffer, pattern, bytes);
    return buffer;
  };
  const sets: Record<string, Tensor>[] = Array.from({ length: numSets }, () => ({}));
  try {
    for (const operand of operands) {
      const { name, dims, dtype } = operand;
      const pattern = encode(operand.pattern, dtype);
      let first: DeviceBuffer | undefined;
      for (const set of sets) {
        const buffer = await place(operand, pattern, first);
        first ??= buffer;
        const kind = operand.constant ? "weights" : "state";
        set[name] = packedTensor(makeStorage(kind, bytesOf(operand), name, { buffer, byteOffset: 0 }), dims, dtype);
      }
    }
    return { sets, free };
  } catch (error) {
    free();
    throw error;
  }
}
