import type { Device, DType } from "@vd/kernels-native";
import { type Graph, layoutPlan, Plan, type PlanLayout, type PlanOptions } from "@vd/tensor";

/** A part of a generation that is recorded, planned and run on its own. */
export interface StageDefinition {
  name: string;
  /** The name and what else tells this stage from the others of a generation. Default: the name. */
  key?: string;
  /** Element type of activations; default f32. */
  dtype?: DType | undefined;
  build(g: Graph): void;
}

/** Memory of the stages that are loaded now, and the most that were at any time. */
export interface StageMemory {
  /** Planned blocks and working memory of the loaded stages. */
  ownBytes: number;
  /** With packed weights. */
  peakBytes: number;
}

/** Layouts of one generation's stages: rows, memory and cost, each recorded once. */
export class StageLayouts {
  private readonly known = new Map<string, PlanLayout>();

  /** The stage's layout. Throws VdError from the ops' checks. */
  of({ name, key = name, dtype = "f32", build }: StageDefinition): PlanLayout {
    const layout = this.known.get(key) ?? layoutPlan(build, { dtype });
    this.known.set(key, layout);
    return layout;
  }
}

/** Loads a planned stage, hands it to `body`, and frees it whatever happens. Counts it in `memory` while it is loaded.
 *  options: also who observes it, and under which name. */
export async function withStage<T>(
  device: Device,
  layout: PlanLayout,
  memory: StageMemory,
  body: (plan: Plan) => Promise<T>,
  options: PlanOptions = {},
): Promise<T> {
  const plan = await Plan.load(device, layout, options);
  const ownBytes = plan.memory.peakBytes + plan.info.scratchBytes;
  memory.ownBytes += ownBytes;
  // The device counts the packed weights of all programs, so those of other loaded stages are in there.
  memory.peakBytes = Math.max(memory.peakBytes, memory.ownBytes + plan.info.packedBytes);
  try {
    return await body(plan);
  } finally {
    memory.ownBytes -= ownBytes;
    await plan.release();
  }
}
