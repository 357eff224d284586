import { listOf, OPS, oneOfThese, optional, requireFields, VdError } from "@vd/kernels-native";
import { Graph, type GraphOptions } from "../graph";
import { type Pausable, pausable } from "../pausable";
import type { Row } from "../row";
import { packedBytes, requireTensor, type Storage, TENSOR, type Tensor } from "../tensor";
import { placeBlocks } from "./arena";
import { measureInConvolutions } from "./channel-moments";
import { arenaLifetimes } from "./lifetimes";
import { checkSources } from "./sources";

/** Bytes of a plan by kind, known before anything is allocated. */
export interface PlanMemory {
  /** Read-only operands, as stored, and what a GPU makes of filters that it transforms; blocks shared with other plans are counted in each. */
  weightBytes: number;
  /** Those of them that are filters' transforms: `Device.trim` lets go of them alone once no plan uses them. */
  transformedBytes: number;
  stateBytes: number;
  ioBytes: number;
  arenaBytes: number;
  /** State, io and arena: what the plan allocates. */
  peakBytes: number;
}

/** What one run of a plan costs. */
export interface PlanCost {
  numRows: number;
  flops: number;
  /** Operands read plus results written, each row on its own. */
  bytes: number;
}

/** A recorded graph with every block placed; nothing is allocated. */
export interface GraphLayout {
  graph: Graph;
  memory: PlanMemory;
  cost: PlanCost;
  byteOffsets: ReadonlyMap<number, number>;
}

/** Calls a model's forward function on a graph; one that pauses between the model's blocks returns the rest of itself. */
export type Recording = (graph: Graph) => void | Pausable<void>;

/** Rows that are looked at between two pauses. */
const PIECE = 64;

const tensorsOf = (row: Row) => [...row.inputs, ...row.outputs].filter((t): t is Tensor => t !== undefined);

/** All tensors of a graph, those of its rows first; pauses after some rows. */
function* visitTensors(graph: Graph, visit: (tensor: Tensor) => void): Pausable<void> {
  for (const [i, row] of graph.rows.entries()) {
    for (const tensor of tensorsOf(row)) visit(tensor);
    if (i % PIECE === PIECE - 1) yield;
  }
  for (const named of [graph.inputs, graph.states, graph.outputs]) for (const tensor of named.values()) visit(tensor);
}

/** Every storage that a graph uses, once. */
export function* storagesOf(graph: Graph): Pausable<Storage[]> {
  const found = new Map<number, Storage>();
  yield* visitTensors(graph, ({ storage }) => found.set(storage.id, storage));
  return [...found.values()];
}

/** Transformed filters have 36 elements, one for each product of a tile, where filters have 9 taps. */
const TRANSFORMED_SIZE = 4;

const isTransformed = ({ op, outputs }: Row, { dims }: Tensor): boolean =>
  op === "conv_winograd" && dims.length === 5 && outputs[0]!.dtype !== "f32";

/** Returns how many elements a GPU holds for each of a row's weight, in 16 bits: filters that it transforms, and what it makes of them. */
export function heldElements(row: Row, weight: Tensor): number {
  requireFields("heldElements row", row, ROW);
  requireTensor("heldElements weight", weight);
  return isTransformed(row, weight) ? 1 + TRANSFORMED_SIZE : 1;
}

const ROW = { op: oneOfThese(Object.keys(OPS)), outputs: listOf(optional(TENSOR)) };

const sumOf = (bytes: ReadonlyMap<string, number>): number => [...bytes.values()].reduce((sum, each) => sum + each, 0);

/** Each weight tensor once; a mapped file holds many. */
function* weightBytesOf(graph: Graph): Pausable<Pick<PlanMemory, "weightBytes" | "transformedBytes">> {
  const [stored, transformed] = [new Map<string, number>(), new Map<string, number>()];
  for (const [i, row] of graph.rows.entries()) {
    for (const input of row.inputs) {
      if (input?.storage.kind !== "weights") continue;
      const key = `${input.storage.id}:${input.byteOffset}`;
      stored.set(key, packedBytes(input.dims, input.dtype));
      if (isTransformed(row, input)) transformed.set(key, TRANSFORMED_SIZE * packedBytes(input.dims, "f16"));
    }
    if (i % PIECE === PIECE - 1) yield;
  }
  const transformedBytes = sumOf(transformed);
  return { weightBytes: sumOf(stored) + transformedBytes, transformedBytes };
}

function* memoryOf(graph: Graph, arenaBytes: number): Pausable<PlanMemory> {
  const storages = yield* storagesOf(graph);
  const bytesOf = (kind: Storage["kind"]) =>
    storages.filter((s) => s.kind === kind).reduce((sum, s) => sum + s.bytes, 0);
  const [stateBytes, ioBytes] = [bytesOf("state"), bytesOf("io")];
  const weights = yield* weightBytesOf(graph);
  return { ...weights, stateBytes, ioBytes, arenaBytes, peakBytes: stateBytes + ioBytes + arenaBytes };
}

function* costOf(graph: Graph): Pausable<PlanCost> {
  const cost = { numRows: graph.rows.length, flops: 0, bytes: 0 };
  for (const [i, row] of graph.rows.entries()) {
    cost.flops += row.flops;
    for (const { dims, dtype } of tensorsOf(row)) cost.bytes += packedBytes(dims, dtype);
    if (i % PIECE === PIECE - 1) yield;
  }
  return cost;
}

/**
 * Records `build` over shapes and places every block. Pauses where the recording does and while blocks are placed.
 *
 * @throws VdError from the ops' checks
 * @example
 * ```ts
 * import { type Graph, layoutGraph, runInSlices } from "@vd/tensor";
 *
 * const record = (g: Graph) => {
 *   const x = g.input("x", [1, 1, 64 * 64, 8]);
 *   g.output("y", g.pointwise({ a: x, act: "gelu" }));
 * };
 * console.log(layoutGraph(record).memory.peakBytes);
 * const later = await runInSlices(layoutGraph.inPieces(record, { dtype: "f16" }));
 * console.log(later.cost.flops);
 * ```
 */
export const layoutGraph = pausable(function* (build: Recording, options: GraphOptions = {}): Pausable<GraphLayout> {
  const graph = new Graph(options);
  if (typeof build !== "function")
    throw new VdError({ code: "attr", where: "graph", expected: "a function that records it", got: typeof build });
  const rest = build(graph);
  // A function that returns something else is one that returns nothing, as far as its type goes.
  if (typeof rest?.next === "function") yield* rest;
  yield* checkSources.inPieces(graph);
  yield* measureInConvolutions.inPieces(graph);
  const lifetimes = yield* arenaLifetimes.inPieces(graph);
  const arena = yield* placeBlocks.inPieces(lifetimes);
  const memory = yield* memoryOf(graph, arena.bytes);
  const cost = yield* costOf(graph);
  return { graph, memory, cost, byteOffsets: arena.byteOffsets };
});
