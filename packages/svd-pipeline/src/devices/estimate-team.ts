import { availableBytes } from "@vd/vae-opt";
import type { GenerationContext } from "../generation/context";
import { type DeviceRates, measureRates, runUs } from "../generation/device-rates";
import { packedWeightBytes, requireBytes, storedWeightBytes } from "../generation/estimate";
import type { DeviceEstimate, GenerationEstimate, StageEstimate } from "../types";
import { type MemberLayout, type MemberPlan, planTeam, type TeamPhase } from "./team-stages";

/** A stage's estimate with what happens at the same time on other devices. */
interface PhasedEstimate extends StageEstimate {
  phase: TeamPhase;
}

const stageBytes = ({ ownBytes, layouts }: MemberLayout): number => ownBytes + packedWeightBytes(...layouts);

function estimateStage(stage: MemberLayout, device: string, rates: DeviceRates): PhasedEstimate {
  const { phase, name, runs, layouts } = stage;
  const sum = (pick: "numRows" | "flops" | "bytes") => layouts.reduce((total, { cost }) => total + cost[pick], 0);
  const [numRows, flops, bytes] = [sum("numRows"), sum("flops"), sum("bytes")];
  const estimatedUs = layouts.reduce((total, layout) => total + runUs(layout, rates), 0) * runs;
  return { phase, name, device, numRows, peakBytes: stageBytes(stage), flops, bytes, runs, estimatedUs };
}

const totalUs = (stages: readonly StageEstimate[]): number =>
  stages.reduce((total, { estimatedUs }) => total + estimatedUs, 0);

/** Time of all phases, each as long as its slowest device takes. */
function elapsedUs(byDevice: readonly (readonly PhasedEstimate[])[]): number {
  const phases = [...new Set(byDevice.flat().map(({ phase }) => phase))];
  const longest = (phase: TeamPhase) =>
    Math.max(...byDevice.map((stages) => totalUs(stages.filter((stage) => stage.phase === phase))));
  return phases.reduce((total, phase) => total + longest(phase), 0);
}

function estimateDevice(
  plan: MemberPlan,
  stages: readonly PhasedEstimate[],
  label: string,
  elapsed: number,
): DeviceEstimate {
  const estimatedUs = totalUs(stages);
  return {
    ...{ device: label, rows: plan.rows, frames: plan.frames, receivedBytes: plan.receivedBytes },
    weightBytes: storedWeightBytes(plan.layouts.flatMap(({ layouts }) => layouts)),
    peakBytes: Math.max(0, ...stages.map(({ peakBytes }) => peakBytes)),
    ...{ estimatedUs, share: elapsed > 0 ? estimatedUs / elapsed : 0 },
  };
}

/** Returns what a generation will need of each device of its team. What devices send each other is counted in bytes, not in time. */
export async function estimateTeam(context: GenerationContext): Promise<GenerationEstimate> {
  const { members } = context.team!;
  const plans = await planTeam(context);
  const rates: DeviceRates[] = [];
  const layoutsOf = (i: number) => plans[i]!.layouts.flatMap(({ layouts }) => layouts);
  for (const [i, { device }] of members.entries()) rates.push(await measureRates(device, layoutsOf(i)));
  const byDevice = plans.map(({ layouts }, i) =>
    layouts.map((stage) => estimateStage(stage, members[i]!.label, rates[i]!)),
  );
  const estimatedUs = elapsedUs(byDevice);
  const devices = plans.map((plan, i) => estimateDevice(plan, byDevice[i]!, members[i]!.label, estimatedUs));
  return {
    stages: byDevice.flat().map(({ phase: _, ...stage }) => stage),
    weightBytes: storedWeightBytes(plans.flatMap((plan) => plan.layouts.flatMap(({ layouts }) => layouts))),
    peakBytes: Math.max(...devices.map(({ peakBytes }) => peakBytes)),
    flops: byDevice.flat().reduce((total, { flops, runs }) => total + flops * runs, 0),
    ...{ estimatedUs, devices, warnings: context.warnings },
  };
}

/**
 * Lays out a generation of a team, and refuses one whose devices' parts together do not fit into this machine's memory, where they are the
 * CPU: the operating system would promise the memory and end the process later.
 *
 * @throws VdError `memory` naming the stage
 */
export async function layoutTeam(context: GenerationContext): Promise<void> {
  const plans = await planTeam(context);
  if (context.device.kind !== "cpu") return;
  for (const phase of ["encode", "denoise", "decode"] as const) {
    const bytes = plans.map(({ layouts }) => layouts.filter((each) => each.phase === phase).map(stageBytes));
    requireBytes(
      phase,
      bytes.reduce((total, stages) => total + Math.max(0, ...stages), 0),
      availableBytes(),
    );
  }
}
