import { allocateBuffer, DTYPES, type DType, OPS } from "@vd/kernels-native";
import { type OpDefinition, type Operand, operandOf } from "@vd/kernels-native/contract";
import {
  type CallOptions,
  fromFloat16Array,
  type Graph,
  layoutPlan,
  makeStorage,
  type Plan,
  type PlanLayout,
  packedTensor,
  type Tensor,
  toBfloat16Array,
  toFloat16Array,
} from "@vd/tensor";
import { fillFromTable, normalCodes } from "../synth/normal-codes";
import type { BenchCase } from "./cases";

/** Most copies of the operands, and most bytes of all of them. */
const MAX_SETS = 32;
const MAX_BYTES = 2 ** 31;
/** By how much the copies together exceed the cache. */
const CACHES = 3;

/** One operand of a timed call. */
export interface OpOperand {
  name: string;
  dims: readonly number[];
  dtype: DType;
  /** A weight, packed once. */
  constant: boolean;
  values: Float32Array;
}

const countOf = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1);

const table = normalCodes(0, 1);

function valuesOf(label: string, { dims, fill }: Operand, fanIn: number): Float32Array {
  const count = countOf(dims);
  if (fill !== undefined && fill !== "flags" && "values" in fill)
    return Float32Array.from({ length: count }, (_, i) => fill.values[i % fill.values.length]!);
  const codes = new Uint16Array(count);
  fillFromTable(codes, table, label);
  const values = fromFloat16Array(codes);
  if (fill === "flags") return values.map((value) => Number(value < 1));
  const [mean, deviation] = fill ? [fill.mean, fill.deviation] : [0, fanIn > 1 ? 1 / Math.sqrt(fanIn) : 1];
  return values.map((value) => mean + deviation * value);
}

/** The operands of a case with numbers that its name decides; floats in `dtype` where the op takes it. Weights keep the
 *  size of what goes through. */
export function operandsOf({ op, name, opCase }: BenchCase, dtype: DType): OpOperand[] {
  const specs: OpDefinition["inputs"] = OPS[op].inputs;
  return (Object.entries(opCase.inputs) as [string, Operand | readonly number[]][]).map(([input, given]) => {
    const operand = operandOf(given);
    const spec = specs[input]!;
    const isFloat = (operand.dtype ?? "f32") === "f32" && spec.dtype.includes(dtype);
    const constant = spec.constant === true && operand.constant !== false;
    const fanIn = input === "weight" ? countOf(operand.dims.slice(1)) : 1;
    const values = valuesOf(`${name} ${input}`, operand, fanIn);
    return { name: input, dims: operand.dims, dtype: isFloat ? dtype : (operand.dtype ?? "f32"), constant, values };
  });
}

/** A call recorded as often as it takes to leave the cache behind, each time on operands of its own. */
export interface OpPlan {
  layout: PlanLayout;
  numSets: number;
  /** Operands read plus results written, of one call. */
  bytes: number;
  flops: number;
  fill(plan: Plan): void;
}

const camel = (id: string) => id.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

function encode(values: Float32Array, dtype: DType): ArrayBufferView {
  if (dtype === "f16") return toFloat16Array(values);
  if (dtype === "bf16") return toBfloat16Array(values);
  if (dtype === "i32") return Int32Array.from(values);
  return dtype === "u8" ? Uint8Array.from(values) : values;
}

function weight({ name, dims, dtype, values }: OpOperand): Tensor {
  const bytes = countOf(dims) * DTYPES[dtype];
  const buffer = allocateBuffer(bytes);
  buffer.write(encode(values, dtype));
  return packedTensor(makeStorage("weights", bytes, name, { buffer, byteOffset: 0 }), dims, dtype);
}

function record(g: Graph, { op, opCase }: BenchCase, operands: readonly OpOperand[], set: number): void {
  const tensors = operands.map((operand) => [
    operand.name,
    operand.constant ? weight(operand) : g.input(`${operand.name} ${set}`, operand.dims, operand.dtype),
  ]);
  const call = g[camel(op) as keyof Graph] as unknown as (this: Graph, options: CallOptions) => Tensor;
  const y = call.call(g, { ...opCase.attrs, ...Object.fromEntries(tensors), name: `${opCase.name} ${set}` });
  g.output(`result ${set}`, y);
}

/** Plans a case. cacheBytes: of the device's last cache. Throws VdError from the op's checks. */
export function opPlan(bench: BenchCase, operands: readonly OpOperand[], cacheBytes: number, dtype: DType): OpPlan {
  const one = layoutPlan((g) => record(g, bench, operands, 0), { dtype });
  const { bytes, flops } = one.cost;
  const wanted = Math.ceil((CACHES * cacheBytes) / bytes);
  const numSets = Math.max(1, Math.min(wanted, MAX_SETS, Math.floor(MAX_BYTES / bytes)));
  const layout = layoutPlan(
    (g) => {
      for (let set = 0; set < numSets; set++) record(g, bench, operands, set);
    },
    { dtype },
  );
  const fill = (plan: Plan) => {
    for (const { name, constant, values } of operands)
      for (let set = 0; set < numSets && !constant; set++) plan.write(`${name} ${set}`, values);
  };
  return { layout, numSets, bytes, flops, fill };
}
