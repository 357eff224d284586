import { type DType, OPS, type OpId } from "@vd/kernels-native";
import type { AttrValue, OpDefinition } from "@vd/kernels-native/contract";
import { type Plain, plainCall, REFERENCES } from "@vd/kernels-native/references";
import type { Numbers } from "./numbers";

/** A timed call, of which some elements of the first result are to be computed in float64. */
export interface FullCall {
  op: OpId;
  /** Decides which elements. */
  label: string;
  /** All that the contract has. */
  attrs: Readonly<Record<string, AttrValue>>;
  operands: Readonly<Record<string, Numbers>>;
  /** Of the first result. */
  resultDims: readonly number[];
  resultType: DType;
}

/** An element of a small call's result, and which one of the full call's result it is. */
export interface SampledElement {
  from: number;
  to: number;
}

/** A small call of the op whose result has some elements of the full one's. */
export interface SampledCall {
  operands: Readonly<Record<string, Plain>>;
  attrs?: Readonly<Record<string, AttrValue>>;
  elements: readonly SampledElement[];
}

/** Every attribute with its value. */
export function attrsOf(op: OpId, attrs: Readonly<Record<string, AttrValue | undefined>>): FullCall["attrs"] {
  const specs: OpDefinition["attrs"] = OPS[op].attrs;
  const all = {
    ...Object.fromEntries(Object.entries(specs).map(([name, { default: value }]) => [name, value])),
    ...attrs,
  };
  return all as FullCall["attrs"];
}

/** Elements of the first result of `op` at places of the full call's result. */
export interface Sample {
  places: Float64Array;
  values: Float64Array;
  /** What values are multiples of, where that is a result of the op as well. */
  factors?: Float64Array;
}

/** Computes small calls by the float64 reference of `op`. */
export function computeSampled({ attrs, resultType }: FullCall, op: OpId, calls: readonly SampledCall[]): Sample {
  const output = Object.keys(OPS[op].outputs)[0]!;
  const [places, values, factors]: number[][] = [[], [], []];
  for (const call of calls) {
    const results = REFERENCES[op](plainCall(call.operands, attrsOf(op, { ...attrs, ...call.attrs }), resultType));
    const [{ data }, scales] = [results[output]!, results.scales?.data];
    for (const { from, to } of call.elements) {
      places!.push(to);
      values!.push(data[from]!);
      if (scales) factors!.push(scales[Math.floor(from / (data.length / scales.length))]!);
    }
  }
  const [at, numbers] = [Float64Array.from(places!), Float64Array.from(values!)];
  return { places: at, values: numbers, ...(factors!.length > 0 && { factors: Float64Array.from(factors!) }) };
}
