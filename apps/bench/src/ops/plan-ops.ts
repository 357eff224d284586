import type { DeviceKind, DType } from "@vd/kernels-native";
import type { Row } from "@vd/tensor";
import type { Rates } from "../doctor/rates";
import { alignColumns } from "../measure/table";
import { cacheBytes } from "./cache-size";
import { type BenchCase, benchCases } from "./cases";
import { callsOf, opLayout, opSizes } from "./op-plan";
import { operandShapes, unplaced } from "./operands";

/** How ops are going to be timed. */
export interface OpsTiming {
  device: DeviceKind;
  dtype: DType;
  rounds: number;
  repeats: number;
  /** A contender that has taken this long in a case takes no further turn in it. */
  limitMs: number;
  /** Ours and the peers. */
  contenders: readonly string[];
  /** What the device reaches; undefined where that is not known. */
  rates: Rates | undefined;
}

/** What timing a case is going to take. */
export interface PlannedCase {
  name: string;
  /** Copies of the operands, which one run goes over. */
  numSets: number;
  /** Of one run. */
  flops: number;
  bytes: number;
  /** Of all runs of all contenders; undefined without rates. */
  totalMs: number | undefined;
}

/** Ops reach about this part of what a large product or copy reaches. */
const REACHED = 0.5;

/** Returns what timing each case is going to take, from its work and the device's rates. Nothing is computed. */
export function planOps(cases: readonly BenchCase[], timing: OpsTiming): PlannedCase[] {
  return cases.map((each) => {
    const where = { cacheBytes: cacheBytes(timing.device), isGpu: timing.device === "cuda" };
    const sizes = opSizes(each, operandShapes(each, timing.dtype), where, timing.dtype);
    const [flops, bytes] = [sizes.flops * callsOf(sizes), sizes.bytes * callsOf(sizes)];
    return { name: each.name, numSets: sizes.numSets, flops, bytes, totalMs: totalMs(flops, bytes, timing) };
  });
}

function totalMs(flops: number, bytes: number, { rates, rounds, repeats, limitMs, contenders }: OpsTiming) {
  if (rates === undefined) return undefined;
  const runMs = (flops / (rates.matrixTflopPerS * 1e9) + bytes / (rates.copyGbPerS * 1e6)) / REACHED;
  // The first run is not timed; a limit is looked at after a turn.
  const timedMs = Math.min(runMs * rounds * repeats, limitMs + runMs * repeats);
  return (runMs + timedMs) * contenders.length;
}

/** Returns a sentence: how many shapes, who runs them how often, and about how long all of it takes. */
export function planSentence(plan: readonly PlannedCase[], { rounds, repeats, contenders }: OpsTiming): string {
  const all = benchCases().length;
  const which = plan.length < all ? `${plan.length} of ${all} shapes` : `all ${all} shapes`;
  const total = sumMs(plan);
  const time = total === undefined ? "" : `: about ${durationText(total)}`;
  return `${which}, ${contenders.join(" and ")} in ${rounds} rounds of ${repeats} runs${time}`;
}

/** Returns the plan as a table: case, copies, work and traffic of a run, and time. */
export function planTable(plan: readonly PlannedCase[]): string {
  const rows = plan.map(({ name, numSets, flops, bytes, totalMs: ms }) => [
    name,
    "",
    String(numSets),
    (flops / 1e9).toFixed(1),
    (bytes / 1e9).toFixed(2),
    ms === undefined ? "" : durationText(ms),
  ]);
  return alignColumns([["case", "", "copies", "GFLOP", "GB", "about"], ...rows]);
}

function sumMs(plan: readonly PlannedCase[]): number | undefined {
  const times = plan.map(({ totalMs: ms }) => ms);
  return times.includes(undefined) ? undefined : times.reduce<number>((sum, ms) => sum + ms!, 0);
}

function durationText(ms: number): string {
  if (ms < 1000) return "under 1 s";
  return ms < 120_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.ceil(ms / 60_000)} min`;
}

/** Returns the row that each shape is in a plan of activations in `dtype`, over operands that have no place yet. */
export function plannedCases(dtype: DType): { name: string; row: Row }[] {
  return benchCases().map((each) => {
    const { graph } = opLayout(each, [unplaced(operandShapes(each, dtype))], dtype);
    return { name: each.name, row: graph.rows[0]! };
  });
}
