import type { DeviceBuffer } from "@vd/kernels-native";
import { layoutGraph, Plan, runInSlices } from "@vd/tensor";
import type { FrameBatch } from "./frame-batch";
import { recordStream, type StreamProgram } from "./record-stream";
import { type BatchOptions, StepBatch, type TextStates } from "./step-batch";
import type { BatchMemory, Blocks, PictureMemory } from "./stream-memory";
import type { StreamConditions, TemporalBlend } from "./types";

/** How a stream's batches and programs are made. */
export interface StreamOptions extends BatchOptions {
  /** Whether programs measure the change between frames. */
  change: boolean;
  /** How latents are blended with those of the frame before; undefined: not at all. */
  temporalBlend?: TemporalBlend | undefined;
}

/** Which of a batch's programs makes a frame. slot: the place of its pictures. */
type WhichProgram = Pick<StreamProgram, "first" | "drift"> & { slot: number };

/** A stream at one number of steps: its batch and its programs. */
export class StreamBatch implements FrameBatch {
  private readonly plans = new Map<string, Promise<Plan>>();
  private readonly ready = new Map<string, Plan>();
  /** True if no frame is on its way: the next one begins all steps with its own picture. */
  isEmpty = true;
  /** The weight of the frame before that the programs have. */
  private weight: number | undefined;

  private constructor(
    private readonly options: StreamOptions,
    private readonly slots: readonly PictureMemory[],
    private readonly batch: StepBatch,
  ) {}

  /** Allocates memory and loads what fills it. @throws VdError `memory` */
  static async open(options: StreamOptions, slots: readonly PictureMemory[], steps: number): Promise<StreamBatch> {
    return new StreamBatch(options, slots, await StepBatch.open(options, steps));
  }

  get steps(): number {
    return this.batch.steps;
  }

  get memory(): Blocks<BatchMemory> {
    return this.batch.memory;
  }

  /** Forgets the frames that are on their way, and the residual noise. */
  clear(): void {
    this.batch.clear();
    this.isEmpty = true;
  }

  /** Tells the network another text, strength or guidance. */
  tell(texts: TextStates, conditions: StreamConditions): Promise<void> {
    return this.batch.tell(texts, conditions);
  }

  private keyOf = ({ first, drift, slot }: WhichProgram) => `${first} ${drift} ${slot}`;

  /** Loads the programs of such frames, unless they are loaded. */
  async prepare(drift: boolean): Promise<void> {
    for (const slot of this.slots.keys())
      for (const first of this.steps > 1 ? [true, false] : [true]) await this.load({ first, drift, slot });
  }

  /** True if {@link prepare} has loaded such frames. */
  isReady(drift: boolean): boolean {
    return this.ready.has(this.keyOf({ first: this.steps === 1, drift, slot: 0 }));
  }

  private async load(which: WhichProgram): Promise<void> {
    const { model, device, size, guidance, change, temporalBlend } = this.options;
    const { steps, memory: batch } = this;
    const pictures = this.slots[which.slot]!;
    const key = this.keyOf(which);
    const begin = async () => {
      const program = { steps, guidance, change, temporal: temporalBlend !== undefined, ...which };
      const record = layoutGraph.inPieces((g) => recordStream(g, model, { pictures, batch }, program), {
        dtype: size.dtype,
      });
      return Plan.load(device, await runInSlices(record), { capture: device.kind !== "cpu", name: `stream ${key}` });
    };
    const loading = this.plans.get(key) ?? begin();
    this.plans.set(key, loading);
    try {
      this.ready.set(key, await loading);
    } catch (error) {
      this.plans.delete(key);
      throw error;
    }
  }

  /** The weight of the frame before in the next one: a stream's first one has none before it. */
  private get nextWeight(): number | undefined {
    const { temporalBlend } = this.options;
    return temporalBlend && this.isEmpty ? 0 : temporalBlend?.weight;
  }

  get follows(): boolean {
    const { guidance, temporalBlend } = this.options;
    return this.steps > 1 || guidance === "self" || guidance === "initialize" || temporalBlend !== undefined;
  }

  get waits(): boolean {
    return this.nextWeight !== this.weight;
  }

  /** The program of the next frame; {@link prepare} has loaded it. With one step every frame is a first one. */
  take(drift: boolean, slot: number): Plan {
    const first = this.isEmpty || this.steps === 1;
    const { nextWeight: weight } = this;
    if (weight !== undefined && weight !== this.weight)
      this.memory.temporal.buffer.writeSync(Float32Array.of(weight, this.options.temporalBlend!.threshold));
    this.weight = weight;
    this.isEmpty = false;
    return this.ready.get(this.keyOf({ first, drift, slot }))!;
  }

  stateBuffers(): DeviceBuffer[] {
    const { waiting, residual, before } = this.memory;
    return [waiting, residual, ...(this.options.temporalBlend ? [before] : [])].map(({ buffer }) => buffer);
  }

  async free(): Promise<void> {
    for (const loading of this.plans.values()) await (await loading.catch(() => undefined))?.free();
    this.plans.clear();
    this.ready.clear();
    await this.batch.free();
  }
}
