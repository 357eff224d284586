import type { Device, DType } from "@vd/kernels-native";
import { type Graph, type GraphLayout, layoutGraph, Plan } from "@vd/tensor";
import type { Reporter } from "../io/reporter";
import { type Contender, reasonOf } from "../measure/contenders";
import type { PeerProcess } from "../measure/peer-process";
import type { BenchRow } from "../measure/report";
import { takeTurns } from "../measure/turns";
import { cacheBytes } from "./cache-size";
import type { BenchCase } from "./cases";
import { type ExactResult, exactResult, float64Errors } from "./float64/float64-error";
import { callsOf, type OpSizes, opLayout, opSizes } from "./op-plan";
import { type OpOperand, operandsOf, type PlacedOperands, placeOperands } from "./operands";
import { countPeerLaunches, peerContenders } from "./peer-ops";
import { unfusedStep } from "./unfused-step";

/** Results up to this many elements are compared with the peer's. */
const COMPARED_ELEMENTS = 2 ** 25;

/** How ops are timed. */
export interface OpBench {
  device: Device;
  dtype: DType;
  rounds: number;
  repeats: number;
  /** A contender that has taken this long in a case takes no further turn in it. */
  limitMs: number;
  /** Whether ours also runs by every other kernel that could, as a contender of its own. */
  everyVariant: boolean;
  /** Undefined where ours runs alone. */
  peer: PeerProcess | undefined;
  work: string;
  reporter: Reporter;
  signal: AbortSignal;
}

/** A case with all that its contenders need. */
export interface ReadyCase {
  bench: OpBench;
  each: BenchCase;
  operands: readonly OpOperand[];
  sizes: OpSizes;
  /** What some elements of the result should be; undefined for large calls of ops without a way to compute some alone. */
  exact: ExactResult | undefined;
  /** The op stands in place of a sequence of others, see {@link unfusedStep}. */
  isFused: boolean;
  /** Our result, once there is one and it is small enough to compare. */
  result?: Float32Array;
}

/** How ours runs in a contender. */
interface OurRun {
  /** Calls of the case in a run of the layout. */
  calls: number;
  /** As rows call it. */
  name: string;
  /** As a graph, instead of launch by launch. */
  capture: boolean;
  /** The kernel, instead of the device's choice. */
  variant?: string;
}

/** Ours over a layout of the case. */
async function ourOp(
  ready: ReadyCase,
  layout: GraphLayout,
  { calls, name, capture, variant }: OurRun,
): Promise<Contender> {
  const { bench, sizes, isFused } = ready;
  const variants = variant === undefined ? {} : { variants: layout.graph.rows.map(() => variant) };
  const plan = await Plan.load(bench.device, layout, { capture, ...variants });
  try {
    const firstUs = (await plan.run()).elapsedUs / calls;
    if (name === "ours" && sizes.resultCount <= COMPARED_ELEMENTS) ready.result = await plan.read("result 0");
    const errors = ready.exact && name.startsWith("ours") ? await float64Errors(ready.exact, plan) : {};
    const onGpu = plan.info.launches.reduce((sum, count) => sum + count, 0);
    const launches = (onGpu || (isFused ? layout.graph.rows.length : 0)) / calls;
    return {
      name,
      facts: { flops: sizes.flops, bytes: sizes.bytes, firstUs, ...(launches > 0 ? { launches } : {}), ...errors },
      async run(repeats) {
        const times: number[] = [];
        for (let i = 0; i < repeats; i++) times.push((await plan.run({ signal: bench.signal })).elapsedUs / calls);
        return times;
      },
      close: async () => plan.freeSync(),
    };
  } catch (error) {
    plan.freeSync();
    throw error;
  }
}

/** The sequence of our own ops that does what the case's op does in one, where there is one. */
function unfusedContenders(
  ready: ReadyCase,
  sets: PlacedOperands["sets"],
  isGpu: boolean,
): (readonly [string, () => Promise<Contender>])[] {
  const unfused = unfusedStep(ready.each);
  if (!unfused) return [];
  const record = (g: Graph) => {
    for (const [i, tensors] of sets.entries()) unfused(g, tensors, i);
  };
  const layout = layoutGraph(record, { dtype: ready.bench.dtype });
  const names = isGpu ? ["unfused", "unfused-graph"] : ["unfused"];
  return names.map(
    (name) =>
      [name, () => ourOp(ready, layout, { calls: sets.length, name, capture: name.endsWith("-graph") })] as const,
  );
}

/** Makes contenders one after the other; of one that cannot be made, the row says why. */
async function tryAll(
  { bench: { signal }, each }: ReadyCase,
  makers: readonly (readonly [string, () => Promise<Contender>])[],
): Promise<{ contenders: Contender[]; missing: BenchRow[] }> {
  const contenders: Contender[] = [];
  const missing: BenchRow[] = [];
  for (const [contender, make] of makers)
    try {
      contenders.push(await make());
    } catch (error) {
      if (signal.aborted) {
        for (const made of contenders) await made.close();
        throw signal.reason;
      }
      missing.push({ suite: "ops", name: each.name, contender, reason: reasonOf(error) });
    }
  return { contenders, missing };
}

/** The kernels that could compute a case but the device's choice, each as a contender. */
async function otherVariants(ready: ReadyCase, layout: GraphLayout, capture: boolean) {
  const plan = await Plan.load(ready.bench.device, layout);
  const names = (plan.candidates[0] ?? []).filter((name) => name !== plan.info.variants[0]);
  plan.freeSync();
  const graph = capture ? "ours-graph" : "ours";
  return names.map(
    (variant) =>
      [
        `ours ${variant}`,
        () => ourOp(ready, layout, { calls: callsOf(ready.sizes), name: `${graph} ${variant}`, capture, variant }),
      ] as const,
  );
}

/** Times one case: ours launched row by row, ours as a graph on a GPU, the sequence of ours that an op fuses, and the peer's op
 *  in the same ways. */
async function benchOp(bench: OpBench, each: BenchCase): Promise<BenchRow[]> {
  const { device, dtype, signal, rounds, repeats, limitMs } = bench;
  const operands = operandsOf(each, dtype);
  const isGpu = device.kind === "cuda";
  const sizes = opSizes(each, operands, { cacheBytes: cacheBytes(device.kind), isGpu }, dtype);
  const calls = callsOf(sizes);
  const placed = await placeOperands(device, operands, sizes.numSets);
  try {
    const layout = opLayout(each, placed.sets, dtype, sizes.passes);
    const { dims, dtype: resultType } = layout.graph.outputs.get("result 0")!;
    const exact = exactResult(each, operands, { dims, dtype: resultType, flops: sizes.flops }, dtype);
    const ready: ReadyCase = { bench, each, operands, sizes, exact, isFused: unfusedStep(each) !== undefined };
    const { contenders, missing } = await tryAll(ready, [
      ["ours", () => ourOp(ready, layout, { calls, name: "ours", capture: false })],
      ...(isGpu
        ? [["ours-graph", () => ourOp(ready, layout, { calls, name: "ours-graph", capture: true })] as const]
        : []),
      ...unfusedContenders(ready, placed.sets, isGpu),
      ...(bench.everyVariant ? await otherVariants(ready, layout, isGpu) : []),
      ...peerContenders(ready, isGpu),
    ]);
    const turns = { suite: "ops", name: each.name, rounds, repeats, limitMs, signal, onTurn: () => {} };
    const rows = await takeTurns(contenders, turns);
    return [...rows, ...missing];
  } finally {
    placed.free();
    await bench.peer?.request("op_release").catch(() => undefined);
    await device.trim();
  }
}

/**
 * Times cases one after the other; `onRows` is called after each.
 *
 * @throws the signal's reason
 */
export async function benchOps(
  cases: readonly BenchCase[],
  bench: OpBench,
  onRows: (rows: readonly BenchRow[]) => Promise<void>,
): Promise<void> {
  for (const [i, each] of cases.entries()) {
    bench.signal.throwIfAborted();
    await onRows(await benchOp(bench, each));
    bench.reporter.progress(each.name, i + 1, cases.length);
  }
}

/** Adds to the peer's rows how many kernels one call launches, where that is of interest: ops that fuse a sequence, and
 *  the origin projects' shapes. After all timing: counting leaves a tracer in the peer's process. */
export async function addPeerLaunches(
  cases: readonly BenchCase[],
  bench: OpBench,
  rows: readonly BenchRow[],
): Promise<void> {
  if (bench.device.kind !== "cuda" || !bench.peer) return;
  for (const each of cases.filter(({ op, name }) => op === "sampler_step" || name.includes(".origin."))) {
    bench.signal.throwIfAborted();
    const peers = rows.filter(
      ({ name, contender, medianUs }) => name === each.name && contender.startsWith("pytorch") && medianUs,
    );
    if (peers.length === 0) continue;
    try {
      const launches = await countPeerLaunches(bench, each);
      for (const row of peers) row.launches = launches;
    } catch (error) {
      if (bench.signal.aborted) throw bench.signal.reason;
      bench.reporter.note(`the peer's launches of ${each.name} were not counted: ${reasonOf(error)}`);
    }
  }
}
