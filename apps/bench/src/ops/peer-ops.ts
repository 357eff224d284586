import { join } from "node:path";
import { QUANTIZED, VdError } from "@vd/kernels-native";
import { streamSafetensors } from "@vd/tensor";
import { type Contender, readOutput } from "../measure/contenders";
import type { Answer } from "../measure/peer-process";
import { relativeL2 } from "../stats/summary";
import type { OpBench, ReadyCase } from "./bench-ops";
import type { BenchCase } from "./cases";
import { wholeErrors } from "./float64/float64-error";
import type { OpSizes } from "./op-plan";
import { type OpOperand, operandsOf } from "./operands";

/** Makes the peer, which must be there, hold `numSets` copies of the operands, over which a run goes `passes` times. output: where it writes
 *  its first result. */
async function prepare(
  bench: OpBench,
  { op, opCase, peerOp = op }: BenchCase,
  operands: readonly OpOperand[],
  { numSets, passes }: Pick<OpSizes, "numSets" | "passes">,
  output?: string,
): Promise<Answer> {
  const { work, dtype } = bench;
  const peer = bench.peer!;
  const inputs = join(work, "op.safetensors");
  const patterns = operands.map(({ name, pattern }) => ({
    ...{ name, dtype: "F32" as const, shape: [pattern.length], data: pattern },
  }));
  await streamSafetensors(inputs, patterns);
  const dims = Object.fromEntries(operands.map((operand) => [operand.name, operand.dims]));
  // Types of operands that the timing's own does not decide.
  const ownTypes = Object.fromEntries(
    operands
      .filter((operand) => QUANTIZED.some((type) => type === operand.dtype))
      .map((each) => [each.name, each.dtype]),
  );
  const scales = operands.filter(({ name }) => name.endsWith("Scale")).map(({ name }) => [name, "f32"]);
  const dtypes = { ...ownTypes, ...Object.fromEntries(scales) };
  const request = { op: peerOp, attrs: opCase.attrs ?? {}, dims, dtype, dtypes, numSets, passes, inputs };
  return peer.request("op_prepare", { ...request, ...(output === undefined ? {} : { output }) });
}

/** The peer's own op over as many copies of the operands; its error is its distance to our result. */
async function peerOp({ bench, each, operands, sizes, result, exact }: ReadyCase): Promise<Contender> {
  const output = result && join(bench.work, "op.out.safetensors");
  const { firstUs } = await prepare(bench, each, operands, sizes, output);
  const theirs = result && output ? readOutput(output) : undefined;
  const error = theirs && result ? { error: relativeL2(theirs, result) } : {};
  return {
    name: "pytorch",
    facts: { firstUs: Number(firstUs), ...error, ...(theirs && exact && wholeErrors(exact, theirs)) },
    run: async (repeats) => (await bench.peer!.request("op_run", { repeats })).timesUs as number[],
    close: async () => {},
  };
}

/** The op that was prepared last, captured and replayed as a graph. */
async function peerGraph({ bench }: ReadyCase): Promise<Contender> {
  const peer = bench.peer!;
  const { firstUs } = await peer.request("op_capture");
  return {
    name: "pytorch-graph",
    facts: { firstUs: Number(firstUs) },
    run: async (repeats) => (await peer.request("op_run", { repeats, graph: true })).timesUs as number[],
    close: async () => {},
  };
}

/** The peer's contenders by name. graph: also the op as a graph, on a GPU; without the op there is no graph of it, for
 *  the same reason. */
export function peerContenders(ready: ReadyCase, graph: boolean): (readonly [string, () => Promise<Contender>])[] {
  // Said once for all cases, not in each.
  if (!ready.bench.peer) return [];
  let plain: Promise<Contender> | undefined;
  const makePlain = () => {
    plain = peerOp(ready);
    return plain;
  };
  const makeGraph = async () => {
    await plain;
    return peerGraph(ready);
  };
  return graph
    ? [
        ["pytorch", makePlain],
        ["pytorch-graph", makeGraph],
      ]
    : [["pytorch", makePlain]];
}

/**
 * Kernels, copies and fills that one call of the peer's op launches, as its profiler saw them.
 *
 * @throws VdError `unsupported` with the peer's reason, or where it saw none
 */
export async function countPeerLaunches(bench: OpBench, each: BenchCase): Promise<number> {
  try {
    await prepare(bench, each, operandsOf(each, bench.dtype), { numSets: 1, passes: 1 });
    const { launches } = await bench.peer!.request("op_count");
    if (Number(launches) > 0) return Number(launches);
    throw new VdError({ code: "unsupported", where: "pytorch", expected: "launches", got: "a trace without any" });
  } finally {
    await bench.peer?.request("op_release").catch(() => undefined);
  }
}
