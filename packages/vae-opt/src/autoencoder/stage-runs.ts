import { checkUnchanged, type OpenFile } from "@vd/hub";
import { type Device, isVdError } from "@vd/kernels-native";
import {
  type GraphLayout,
  layoutGraph,
  Plan,
  type PlanMemory,
  runInSlices,
  type Tuning,
  type WorkObserver,
} from "@vd/tensor";
import type { StageRunner, VaeStage } from "../decoding/stages";

/** What stages are run with. */
export interface StageRunsOptions {
  device: Device;
  /** The weights' files. */
  files: readonly OpenFile[];
  /** What decides kernel variants of a layout. */
  tuningFor(layout: GraphLayout): Promise<Tuning>;
  observer?: WorkObserver | undefined;
  signal?: AbortSignal | undefined;
  /** What is known of stages of the same shapes and recording already; what is found out is added. */
  known?: KnownStages | undefined;
}

/** What was found out about the stages of a decode's shapes: to lay them out once more costs as much as a small decode. */
export interface KnownStages {
  /** What they take. */
  memories: Map<string, PlanMemory>;
  /** The stage that ran last, with what it has made of its weights. */
  last?: { key: string; layout: GraphLayout } | undefined;
}

/** Lays stages out, each once, and runs them. */
export class StageRuns {
  private readonly known: KnownStages;
  /** Most bytes that a stage took, weights, working memory and maps beside it included. */
  peakBytes = 0;
  private heldBytes = 0;

  constructor(private readonly options: StageRunsOptions) {
    this.known = options.known ?? { memories: new Map() };
  }

  get device(): Device {
    return this.options.device;
  }

  /** Counts bytes of the device's memory that are taken beside stages, or given back where there are fewer than none. */
  readonly hold = (bytes: number): void => {
    this.heldBytes += bytes;
  };

  /** Bytes that a stage takes by its layout, its weights included. */
  readonly bytesOf = async (stage: VaeStage): Promise<number> => {
    const { peakBytes, weightBytes } = await this.memoryOf(stage);
    return peakBytes + weightBytes;
  };

  /** What a stage takes by its layout, which is not kept. */
  async memoryOf(stage: VaeStage): Promise<PlanMemory> {
    const { memories } = this.known;
    const memory = memories.get(stage.key) ?? (await this.record(stage)).memory;
    memories.set(stage.key, memory);
    return memory;
  }

  /**
   * Loads a stage, hands its plan to `body` and frees it.
   *
   * @throws VdError as `Plan.load`, `io` where a file of weights was changed meanwhile
   */
  readonly run: StageRunner = async (stage, body) => {
    const { device, files, observer, tuningFor } = this.options;
    checkUnchanged(files);
    const { known } = this;
    const layout = known.last?.key === stage.key ? known.last.layout : await this.record(stage);
    known.last = { key: stage.key, layout };
    const tuning = await tuningFor(layout);
    const plan = await Plan.load(device, layout, { batchInvariant: true, name: stage.name, observer, tuning });
    try {
      return await body(plan);
    } finally {
      const { weightBytes, peakBytes } = plan.memory;
      this.peakBytes = Math.max(this.peakBytes, weightBytes + peakBytes + plan.info.scratchBytes + this.heldBytes);
      await plan.free();
    }
  };

  /** True for what a device says that has no memory left. */
  isMemoryError(error: unknown): boolean {
    return isVdError(error) && error.code === "memory";
  }

  private record({ name, dtype, build }: VaeStage): Promise<GraphLayout> {
    const { signal } = this.options;
    return runInSlices(layoutGraph.inPieces(build, { dtype }), { signal, where: `layout of "${name}"` });
  }
}
