import { type DType, OPS } from "@vd/kernels-native";
import { checkCall, type Graph, type GraphLayout, layoutGraph, recordOp, type Tensor } from "@vd/tensor";
import type { BenchCase } from "./cases";
import { type OperandShape, unplaced } from "./operands";

/** Most copies of the operands, and most bytes of all of them. */
const MAX_SETS = 32;
const MAX_BYTES = 2 ** 31;
/** By how much the copies together exceed the cache. */
const CACHES = 3;

/** What a run on a GPU lasts at least, as far as `MAX_SETS` calls do: starting it and waiting for it take 50 µs, which are counted in. */
const LEAST_RUN_SECONDS = 3e-3;
/** No GPU is faster: operations, and bytes moved, a second. */
const MOST_FLOPS = 2e15;
const MOST_BYTES = 8e12;

/** What one call is, and how many copies of it leave the cache behind. */
export interface OpSizes {
  numSets: number;
  /** How often a run goes over all copies. */
  passes: number;
  /** Operands read plus results written, of one call. */
  bytes: number;
  flops: number;
  /** Of the first result. */
  resultCount: number;
}

const countOf = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1);

/** Where a call's results go. */
interface CallPlaces {
  out?: Tensor;
  outputs?: Readonly<Record<string, Tensor>>;
}

/** Places for the further results that the case asks for. */
function furtherPlaces(g: Graph, { op, opCase }: BenchCase, tensors: Readonly<Record<string, Tensor>>, set: number) {
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

/** Records a call of the case; returns where its results lie, for further calls on the same copy. */
function record(
  g: Graph,
  { op, opCase }: BenchCase,
  tensors: Readonly<Record<string, Tensor>>,
  set: number,
  places: CallPlaces,
): CallPlaces {
  const out = recordOp(g, op, { ...opCase.attrs, ...tensors, ...places, name: `${opCase.name} ${set}` });
  return { ...places, out };
}

/**
 * Plans calls of a case, one for every copy of its operands and that `passes` times, with all results that the case asks for.
 *
 * @throws VdError from the op's checks
 */
export function opLayout(
  bench: BenchCase,
  sets: readonly Readonly<Record<string, Tensor>>[],
  dtype: DType,
  passes = 1,
): GraphLayout {
  return layoutGraph(
    (g) => {
      const places = sets.map((tensors, i) => {
        const wanted = { ...furtherPlaces(g, bench, tensors, i), ...resultPlace(g, bench, tensors) };
        const made = record(g, bench, tensors, i, wanted);
        g.output(`result ${i}`, made.out!);
        return made;
      });
      for (let pass = 1; pass < passes; pass++)
        for (const [i, tensors] of sets.entries()) record(g, bench, tensors, i, places[i]!);
    },
    { dtype },
  );
}

/** Calls in a run. */
export const callsOf = ({ numSets, passes }: OpSizes): number => numSets * passes;

/** How often a run goes over copies that take so long at least once. */
function passesOver(numSets: number, flops: number, bytes: number): number {
  const seconds = numSets * Math.max(flops / MOST_FLOPS, bytes / MOST_BYTES);
  return Math.max(1, Math.min(Math.ceil(LEAST_RUN_SECONDS / seconds), Math.floor(MAX_SETS / numSets)));
}

/**
 * What a case costs and how often its operands are copied. cacheBytes: of the device's last cache. isGpu: a run is started on a device and
 * waited for.
 *
 * @throws VdError from the op's checks
 */
export function opSizes(
  bench: BenchCase,
  operands: readonly OperandShape[],
  { cacheBytes, isGpu }: { cacheBytes: number; isGpu: boolean },
  dtype: DType,
): OpSizes {
  const { cost, graph } = opLayout(bench, [unplaced(operands)], dtype);
  const wanted = Math.ceil((CACHES * cacheBytes) / cost.bytes);
  const numSets = Math.max(1, Math.min(wanted, MAX_SETS, Math.floor(MAX_BYTES / cost.bytes)));
  const passes = isGpu ? passesOver(numSets, cost.flops, cost.bytes) : 1;
  const resultCount = countOf(graph.outputs.get("result 0")!.dims);
  return { numSets, passes, bytes: cost.bytes, flops: cost.flops, resultCount };
}
