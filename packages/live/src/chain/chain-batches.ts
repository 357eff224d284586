import { countOf, type Device, type DeviceBuffer, VdError } from "@vd/kernels-native";
import { CpuGenerator, layoutGraph, Plan, planesToPixels, type Recording, runInSlices } from "@vd/tensor";
import { conditionsOf } from "../diffusion/conditions";
import type { FrameBatch, FrameBatches } from "../diffusion/frame-batch";
import { allocateBlocks, type Blocks, type PictureMemory, type StreamSize } from "../diffusion/stream-memory";
import type { TemporalBlend } from "../diffusion/types";
import type { PlacedTensor } from "../model/frame-memory";
import type { UnetChain } from "../models/unet-chain/index";
import type { LiveParameters } from "../session/types";
import { type Float8Options, recordInFloat8 } from "./float8";
import { chainSigmas, chainTimestep, recordChainFrame } from "./record-chain";

/** How batches of a chain of U-Nets are made. */
export interface ChainBatchesOptions {
  network: UnetChain;
  device: Device;
  seed: number | bigint;
  /** Whether programs measure the change between frames. */
  change: boolean;
  /** How frames are blended with those before; undefined: not at all. */
  temporalBlend?: TemporalBlend | undefined;
  /** Whether products of wide layers are in float8, and of which. */
  float8?: boolean | Float8Options | undefined;
}

type ChainMemory = Blocks<Record<"noise" | "temporal" | "time", PlacedTensor>>;

const keyOf = (drift: boolean, slot: number) => `${drift} ${slot}`;

/** The programs of one number of steps. */
class ChainBatch implements FrameBatch {
  isEmpty = true;
  /** The network sees the frame before. */
  readonly follows = true;
  private readonly plans = new Map<string, Promise<Plan>>();
  private readonly ready = new Map<string, Plan>();
  /** The weight of the frame before that programs have. */
  private weight: number | undefined;

  constructor(
    private readonly options: ChainBatchesOptions,
    private readonly size: StreamSize,
    private readonly slots: readonly PictureMemory[],
    readonly steps: number,
    private readonly memory: ChainMemory,
  ) {}

  static async open(
    options: ChainBatchesOptions,
    size: StreamSize,
    slots: readonly PictureMemory[],
    steps: number,
  ): Promise<ChainBatch> {
    const { network, device, seed } = options;
    const { dims } = slots[0]!.newest.tensor;
    const memory = await allocateBlocks<Omit<ChainMemory, "free">>(device, {
      noise: ["state", [...dims]],
      temporal: ["io", [2]],
      time: ["state", [1, steps, 1, network.timeWidth], size.dtype],
    });
    try {
      const [, count, height, width, channels] = dims as [number, number, number, number, number];
      const planes = new CpuGenerator(seed).randn(countOf(dims));
      memory.noise.buffer.writeSync(
        planesToPixels(planes, [count, channels, height, width], new Float32Array(planes.length)),
      );
      await tellTime(options, memory, size, steps);
      return new ChainBatch(options, size, slots, steps, memory);
    } catch (error) {
      await memory.free();
      throw error;
    }
  }

  /** The weight of the frame before in the next one: a stream's first one has none before it. */
  private get nextWeight(): number {
    return this.isEmpty ? 0 : (this.options.temporalBlend?.weight ?? 0);
  }

  get waits(): boolean {
    return this.nextWeight !== this.weight;
  }

  async prepare(drift: boolean): Promise<void> {
    for (const slot of this.slots.keys()) await this.load(drift, slot);
  }

  isReady(drift: boolean): boolean {
    return this.ready.has(keyOf(drift, 0));
  }

  private async load(drift: boolean, slot: number): Promise<void> {
    const { options, memory, steps, plans, ready } = this;
    const key = keyOf(drift, slot);
    const begin = async () => {
      const { device, network, change, float8 } = options;
      const tensors = { ...this.slots[slot]!, ...memory };
      const recording: Recording = (g) => {
        if (float8) recordInFloat8(g, float8 === true ? {} : float8);
        return recordChainFrame(g, network, tensors, { steps, change, drift });
      };
      const record = layoutGraph.inPieces(recording, { dtype: this.size.dtype });
      return Plan.load(device, await runInSlices(record), { capture: device.kind !== "cpu", name: `chain ${key}` });
    };
    const loading = plans.get(key) ?? begin();
    plans.set(key, loading);
    try {
      ready.set(key, await loading);
    } catch (error) {
      plans.delete(key);
      throw error;
    }
  }

  take(drift: boolean, slot: number): Plan {
    const weight = this.nextWeight;
    const threshold = this.options.temporalBlend?.threshold ?? 0;
    if (weight !== this.weight) this.memory.temporal.buffer.writeSync(Float32Array.of(weight, threshold));
    this.weight = weight;
    this.isEmpty = false;
    return this.ready.get(keyOf(drift, slot))!;
  }

  stateBuffers(): DeviceBuffer[] {
    return [];
  }

  clear(): void {
    this.isEmpty = true;
  }

  async free(): Promise<void> {
    for (const loading of this.plans.values()) await (await loading.catch(() => undefined))?.free();
    this.plans.clear();
    this.ready.clear();
    await this.memory.free();
  }
}

/** Computes once what the network is told of each step's noise level. */
async function tellTime(
  { network, device }: ChainBatchesOptions,
  { time }: ChainMemory,
  { dtype }: StreamSize,
  steps: number,
): Promise<void> {
  const layout = await runInSlices(
    layoutGraph.inPieces(
      (g) => network.conditionTime.inPieces(g, g.input("timestep", [1, steps], "f32"), time.tensor),
      { dtype },
    ),
  );
  const plan = await Plan.load(device, layout, { name: `noise levels ${steps}` });
  try {
    await plan.write("timestep", Float32Array.from(chainSigmas(steps), chainTimestep));
    await plan.run();
  } finally {
    await plan.free();
  }
}

/** Makes frames by a chain of U-Nets, which sees pictures and no words. */
export class ChainBatches implements FrameBatches<ChainBatch> {
  constructor(private readonly options: ChainBatchesOptions) {}

  get device(): Device {
    return this.options.device;
  }

  open(size: StreamSize, slots: readonly PictureMemory[], steps: number): Promise<ChainBatch> {
    return ChainBatch.open(this.options, size, slots, steps);
  }

  async tell(parameters: LiveParameters): Promise<void> {
    checkNoWords(parameters);
  }

  stateLength(): number {
    return 0;
  }

  async free(): Promise<void> {}
}

/**
 * Refuses what the network is not told.
 *
 * @throws VdError `attr`
 */
export function checkNoWords(parameters: LiveParameters): void {
  const [name] = Object.keys(conditionsOf(parameters));
  if (name === undefined) return;
  const [expected, got] = ["a model that is told words and strength", "a chain of U-Nets"];
  throw new VdError({ code: "attr", where: `session] [${name}`, expected, got });
}
