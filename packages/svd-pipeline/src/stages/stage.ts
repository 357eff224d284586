import type { Device, DType } from "@vd/kernels-native";
import {
  type GraphLayout,
  layoutGraph,
  Plan,
  type PlanMemory,
  type PlanOptions,
  type PreparedPlan,
  type Recording,
  runInSlices,
  SharedBlock,
} from "@vd/tensor";

/** A part of a generation that is recorded, laid out and run on its own. */
export interface StageDefinition {
  name: string;
  /** The name and what else tells this stage from the others of a generation. Default: the name. */
  key?: string;
  /** Element type of activations; default f32. */
  dtype?: DType | undefined;
  /** Records the rows, pausing between the model's blocks. */
  build: Recording;
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
  private readonly known = new Map<string, GraphLayout>();
  private readonly memories = new Map<string, PlanMemory>();
  private readonly blocks = new Map<string, SharedBlock>();

  /**
   * The stage's layout.
   *
   * @throws VdError from the ops' checks
   */
  of(stage: StageDefinition): GraphLayout {
    const { dtype = "f32", build } = stage;
    return this.known.get(keyOf(stage)) ?? this.keep(stage, layoutGraph(build, { dtype }));
  }

  /**
   * Does what {@link of} does while the event loop turns.
   *
   * @throws VdError `cancelled` when the signal aborts
   */
  async inSlices(stage: StageDefinition, signal?: AbortSignal): Promise<GraphLayout> {
    const { name, dtype = "f32", build } = stage;
    const layout = () => runInSlices(layoutGraph.inPieces(build, { dtype }), { signal, where: `layout of "${name}"` });
    return this.known.get(keyOf(stage)) ?? this.keep(stage, await layout());
  }

  /** The stage's memory; it stays known when the layout is forgotten. */
  async memoryOf(stage: StageDefinition, signal?: AbortSignal): Promise<PlanMemory> {
    return this.memories.get(keyOf(stage)) ?? (await this.inSlices(stage, signal)).memory;
  }

  /** The block of memory that stages recorded for `key` share. */
  blockOf(key: string): SharedBlock {
    const block = this.blocks.get(key) ?? new SharedBlock();
    this.blocks.set(key, block);
    return block;
  }

  /** Lets go of a layout that will not be loaded: its thousands of rows would slow garbage collection down. */
  forget(stage: StageDefinition): void {
    this.known.delete(keyOf(stage));
  }

  private keep(stage: StageDefinition, layout: GraphLayout): GraphLayout {
    this.known.set(keyOf(stage), layout);
    this.memories.set(keyOf(stage), layout.memory);
    return layout;
  }
}

/** The name and what else tells a stage from the others of a generation. */
export const keyOf = ({ name, key = name }: StageDefinition): string => key;

/** A stage on its device. */
export interface LoadedStage {
  plan: Plan;
  /** Frees it, off the event loop. */
  release(): Promise<void>;
}

/** Counts what the device keeps of all programs' weights, now that several stages are loaded or going to be. */
async function notePeak(device: Device, memory: StageMemory): Promise<void> {
  // A device that was lost meanwhile fails the next call with an error of its own.
  const { residentBytes } = await device.memory().catch(() => ({ residentBytes: 0 }));
  memory.peakBytes = Math.max(memory.peakBytes, memory.ownBytes + residentBytes);
}

/** Bits stay however clips are cut into pieces. */
const stageOptions = (options: PlanOptions): PlanOptions => ({ batchInvariant: true, ...options });

/**
 * Does what {@link loadStage} does before it takes the device's memory.
 *
 * @throws VdError as `Plan.prepare`
 */
export function prepareStage(device: Device, layout: GraphLayout, options: PlanOptions = {}): Promise<PreparedPlan> {
  return Plan.prepare(device, layout, stageOptions(options));
}

/**
 * Loads a laid-out stage and counts it in `memory` until it is released. options: also who observes it, and under which name.
 * prepared: by {@link prepareStage} with the same options.
 *
 * @throws VdError as `Plan.load`
 */
export async function loadStage(
  device: Device,
  layout: GraphLayout,
  memory: StageMemory,
  options: PlanOptions = {},
  prepared?: PreparedPlan,
): Promise<LoadedStage> {
  const { peakBytes, ioBytes } = layout.memory;
  // Whoever gives an arena counts it, and the state that its plans share.
  let ownBytes = options.arena ? ioBytes : peakBytes;
  memory.ownBytes += ownBytes;
  const loading = prepared ? prepared.load() : Plan.load(device, layout, stageOptions(options));
  const plan = await loading.catch((error: unknown) => {
    memory.ownBytes -= ownBytes;
    throw error;
  });
  const { scratchBytes, packedBytes } = plan.info;
  ownBytes += scratchBytes;
  memory.ownBytes += scratchBytes;
  // The device counts the packed weights of all programs, so those of other loaded stages are in there.
  memory.peakBytes = Math.max(memory.peakBytes, memory.ownBytes + packedBytes);
  return {
    plan,
    async release() {
      // Packed weights stay until they are trimmed, so that both may go on at once.
      await Promise.all([memory.ownBytes > ownBytes && notePeak(device, memory), plan.free()]);
      // Filters' transforms take four times the filters' memory, which the next stage may need; they are made again from the filters there.
      if (layout.memory.transformedBytes > 0) await device.trim({ only: "transformed" });
      memory.ownBytes -= ownBytes;
    },
  };
}
