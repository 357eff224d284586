import { join } from "node:path";
import { type Device, type DType, VdError } from "@vd/kernels-native";
import { Plan, streamSafetensors } from "@vd/tensor";
import type { Reporter } from "../io/reporter";
import { type Contender, readOutput, reasonOf } from "../measure/contenders";
import type { PeerProcess } from "../measure/peer-process";
import type { BenchRow } from "../measure/report";
import { takeTurns } from "../measure/turns";
import { relativeL2 } from "../stats/summary";
import { cacheBytes } from "./cache-size";
import type { BenchCase } from "./cases";
import { type OpOperand, type OpPlan, operandsOf, opPlan } from "./op-plan";

/** Operands up to this are sent to the peer, which then also reports its difference to ours. */
const SENT_BYTES = 256 * 2 ** 20;

/** How ops are timed. */
export interface OpBench {
  device: Device;
  dtype: DType;
  rounds: number;
  repeats: number;
  peer: PeerProcess | undefined;
  /** Why there is none. */
  missing: string;
  work: string;
  reporter: Reporter;
  signal: AbortSignal;
}

async function ourOp(bench: OpBench, planned: OpPlan, capture: boolean): Promise<Contender & { output: Float32Array }> {
  const plan = await Plan.load(bench.device, planned.layout, { capture });
  try {
    planned.fill(plan);
    const firstUs = (await plan.run()).elapsedUs / planned.numSets;
    return {
      name: capture ? "ours-graph" : "ours",
      facts: { flops: planned.flops, bytes: planned.bytes, firstUs },
      output: await plan.fetch("result 0"),
      async run(repeats) {
        const times: number[] = [];
        for (let i = 0; i < repeats; i++)
          times.push((await plan.run({ signal: bench.signal })).elapsedUs / planned.numSets);
        return times;
      },
      close: async () => plan.free(),
    };
  } catch (error) {
    plan.free();
    throw error;
  }
}

/** The peer's own op over as many copies of the operands; its error is its distance to our result. */
async function peerOp(
  { peer, missing, work, dtype }: OpBench,
  { op, opCase }: BenchCase,
  operands: readonly OpOperand[],
  { numSets }: OpPlan,
  ours: Float32Array | undefined,
): Promise<Contender> {
  if (!peer) throw new VdError({ code: "unsupported", where: "pytorch", expected: "a peer that runs", got: missing });
  const isSent = operands.reduce((sum, { values }) => sum + values.byteLength, 0) <= SENT_BYTES;
  const [inputs, output] = [join(work, "op.safetensors"), join(work, "op.out.safetensors")];
  if (isSent)
    await streamSafetensors(
      inputs,
      operands.map(({ name, dims, values }) => ({ name, dtype: "F32" as const, shape: dims, data: values })),
    );
  const dims = Object.fromEntries(operands.map((operand) => [operand.name, operand.dims]));
  const request = { op, attrs: opCase.attrs ?? {}, dims, dtype, numSets, ...(isSent ? { inputs, output } : {}) };
  const { firstUs } = await peer.request("op_prepare", request);
  const error = isSent && ours ? { error: relativeL2(readOutput(output), ours) } : {};
  return {
    name: "pytorch",
    facts: { firstUs: Number(firstUs), ...error },
    run: async (repeats) => (await peer.request("op_run", { repeats })).timesUs as number[],
    close: async () => {},
  };
}

/** Times one case: ours launched row by row, ours as a graph on a GPU, and the peer's op. */
async function benchOp(bench: OpBench, each: BenchCase): Promise<BenchRow[]> {
  const { device, dtype, signal, rounds, repeats } = bench;
  const operands = operandsOf(each, dtype);
  const contenders: Contender[] = [];
  const missing: BenchRow[] = [];
  const enter = async (contender: string, make: () => Promise<Contender>) => {
    try {
      contenders.push(await make());
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      missing.push({ suite: "ops", name: each.name, contender, reason: reasonOf(error) });
    }
  };
  let output: Float32Array | undefined;
  const planned = opPlan(each, operands, cacheBytes(device.kind), dtype);
  const ours = async (capture: boolean) => {
    const made = await ourOp(bench, planned, capture);
    output = made.output;
    return made;
  };
  await enter("ours", () => ours(false));
  if (device.kind === "cuda") await enter("ours-graph", () => ours(true));
  await enter("pytorch", () => peerOp(bench, each, operands, planned, output));
  const turns = { suite: "ops", name: each.name, rounds, repeats, signal, onTurn: () => {} };
  const rows = await takeTurns(contenders, turns);
  await bench.peer?.request("op_release").catch(() => undefined);
  await device.trim();
  return [...rows, ...missing];
}

/** Times cases one after the other; `onRows` is called after each. Throws the signal's reason. */
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
