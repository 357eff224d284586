import { type DType, OPS } from "@vd/kernels-native";
import { checkCall, type Graph, type GraphLayout, layoutGraph, recordOp, type Tensor } from "@vd/tensor";
import type { BenchCase } from "./cases";
import { type OperandShape, unplaced } from "./operands";

/** Most copies of the operands, and most bytes of all of them. */
const MAX_SETS = 32;
const MAX_BYTES = 2 ** 31;
/** By how much the copies together exceed the cache. */
const CACHES = 3;

/** What one call is, and how many copies of it leave the cache behind. */
export interface OpSizes {
  numSets: number;
  /** Operands read plus results written, of one call. */
  bytes: number;
  flops: number;
  /** Of the first result. */
  resultCount: number;
}

const countOf = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1);

/** Places for the further results that the case asks for. */
function furtherResults(g: Graph, { op, opCase }: BenchCase, tensors: Readonly<Record<string, Tensor>>, set: number) {
  const { outputs } = checkCall(op, opCase.name, { ...opCase.attrs, ...tensors });
  const wanted = Object.keys(OPS[op].outputs).flatMap((output, i) =>
    opCase.also?.includes(output) ? [[output, g.empty(outputs[i]!.dims, outputs[i]!.dtype)] as const] : [],
  );
  for (const [output, tensor] of wanted) g.output(`${output} ${set}`, tensor);
  return wanted.length > 0 ? { outputs: Object.fromEntries(wanted) } : {};
}

/** A place for the first result where its type is not that of the first operand: the case's own, or the graph's where operands
 *  stand for numbers by their scales. */
function resultPlace(g: Graph, { op, opCase }: BenchCase, tensors: Readonly<Record<string, Tensor>>) {
  const types: readonly DType[] = Object.values(OPS[op].outputs)[0]!.dtype;
  const first = tensors[Object.keys(OPS[op].inputs)[0]!]!.dtype;
  const isQuantized = (first === "i8" || first === "f8e4m3") && types.includes(g.dtype);
  const dtype = opCase.outType ?? (isQuantized ? g.dtype : undefined);
  if (dtype === undefined) return {};
  const { outputs } = checkCall(op, opCase.name, { ...opCase.attrs, ...tensors });
  return { out: g.empty(outputs[0]!.dims, dtype) };
}

function record(g: Graph, bench: BenchCase, tensors: Readonly<Record<string, Tensor>>, set: number): void {
  const { op, opCase } = bench;
  const places = { ...furtherResults(g, bench, tensors, set), ...resultPlace(g, bench, tensors) };
  const y = recordOp(g, op, { ...opCase.attrs, ...tensors, ...places, name: `${opCase.name} ${set}` });
  g.output(`result ${set}`, y);
}

/**
 * Plans one call of a case for every copy of its operands, with all results that the case asks for.
 *
 * @throws VdError from the op's checks
 */
export function opLayout(
  bench: BenchCase,
  sets: readonly Readonly<Record<string, Tensor>>[],
  dtype: DType,
): GraphLayout {
  return layoutGraph(
    (g) => {
      for (const [i, tensors] of sets.entries()) record(g, bench, tensors, i);
    },
    { dtype },
  );
}

/**
 * What a case costs and how often its operands are copied. cacheBytes: of the device's last cache.
 *
 * @throws VdError from the op's checks
 */
export function opSizes(
  bench: BenchCase,
  operands: readonly OperandShape[],
  cacheBytes: number,
  dtype: DType,
): OpSizes {
  const { cost, graph } = opLayout(bench, [unplaced(operands)], dtype);
  const wanted = Math.ceil((CACHES * cacheBytes) / cost.bytes);
  const numSets = Math.max(1, Math.min(wanted, MAX_SETS, Math.floor(MAX_BYTES / cost.bytes)));
  const resultCount = countOf(graph.outputs.get("result 0")!.dims);
  return { numSets, bytes: cost.bytes, flops: cost.flops, resultCount };
}
