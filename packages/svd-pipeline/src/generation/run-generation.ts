import { observed } from "@vd/tensor";
import { layoutTeam } from "../devices/estimate-team";
import type { GeneratedVideo } from "../types";
import type { GenerationContext } from "./context";
import { checkMemory, estimate } from "./estimate";
import { Generation } from "./generation";
import { layoutStages, settleDenoising } from "./layout-stages";
import { memoryAdvice } from "./memory-advice";
import { choosePinning, settlePinning } from "./pinning";

/** Lays a generation out and makes its video. @throws VdError `memory` with what would fit, and as its parts do */
export async function runGeneration(context: GenerationContext): Promise<GeneratedVideo> {
  if (context.team) {
    await observed(context.options.profiler, "plan", async () => {
      await settleDenoising(context);
      await layoutTeam(context);
    });
    return new Generation(context).run();
  }
  const layouts = await observed(context.options.profiler, "plan", () => layoutStages(context));
  // A GPU refuses at once what it does not have.
  try {
    if (context.device.kind === "cpu") checkMemory(layouts);
  } catch (error) {
    throw await memoryAdvice(context, context.device, error);
  }
  await settlePinning(context, layouts);
  return new Generation(context).run();
}

/** Says what a generation on one device will take. */
export async function estimateStages(context: GenerationContext) {
  const layouts = await layoutStages(context);
  const pinning = context.checked.memory === "lowest" ? choosePinning(context, layouts) : undefined;
  const estimated = await estimate(context.device, layouts, context.streamBytes);
  return { ...estimated, ...(pinning && { pinnedBytes: pinning.bytes, keepsPinned: pinning.isKept }) };
}
