import { type Device, type DType, isVdError, type RejectedVariant } from "@vd/kernels-native";
import { Plan } from "@vd/tensor";
import type { BenchCase } from "./cases";
import { opLayout } from "./op-plan";
import { operandsOf, placeOperands } from "./operands";

/** What computes a case on a device, and why nothing else does. */
export interface OpExplanation {
  op: string;
  /** Of the case. */
  name: string;
  kind: "cpu" | "cuda";
  /** The variant that runs: a kernel variant on a GPU, a fast path or `definition` on the CPU. */
  chosen: string;
  /** Other variants that could run. */
  others: readonly string[];
  /** Variants that could not. */
  rejected: readonly RejectedVariant[];
}

/**
 * Loads one call of a case and tells what computes it.
 *
 * @throws VdError `memory`, `unsupported` or `driver`
 */
export async function explainOp(device: Device, dtype: DType, each: BenchCase): Promise<OpExplanation> {
  const placed = await placeOperands(device, operandsOf(each, dtype), 1);
  try {
    const plan = await Plan.load(device, opLayout(each, placed.sets, dtype), { explain: true });
    const [chosen, candidates, rejected] = [plan.info.variants[0]!, plan.candidates[0]!, plan.rejected[0]!];
    await plan.free();
    const others = candidates.filter((name) => name !== chosen);
    return { op: each.op, name: each.name, kind: device.kind, chosen, others, rejected };
  } finally {
    placed.free();
    await device.trim();
  }
}

/** An explanation as lines: the case's name, what runs, what else could, and what could not. */
export function explanationText({ op, name, kind, chosen, others, rejected }: OpExplanation): string {
  const isDefinition = kind === "cpu" && chosen === "definition";
  const runs = isDefinition
    ? `the definition, ops/${op}/${op}.cpu.cc`
    : kind === "cpu"
      ? `${chosen}, a fast path`
      : chosen;
  return [
    name,
    `  runs       ${runs}`,
    ...others.map((other) => `  could run  ${other}`),
    ...rejected.map((other) => `  left out   ${other.name}: ${other.reason}`),
  ].join("\n");
}

/**
 * Explains cases one after the other; `onText` gets each one's lines. A case that cannot be loaded gets the reason.
 *
 * @throws the signal's reason
 */
export async function explainOps(
  cases: readonly BenchCase[],
  { device, dtype, signal }: { device: Device; dtype: DType; signal: AbortSignal },
  onText: (text: string) => void,
): Promise<void> {
  for (const each of cases) {
    signal.throwIfAborted();
    try {
      onText(explanationText(await explainOp(device, dtype, each)));
    } catch (error) {
      if (!isVdError(error)) throw error;
      onText(`${each.name}\n  does not run here: ${error.message}`);
    }
  }
}
