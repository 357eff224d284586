import type { DType, RunTimes } from "@vd/kernels-native";
import { COUNT, OBJECT, optional, requireFields, wholeFrom } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import { type DriftAnchor, DriftHistory, driftMeasure } from "../drift/measure";
import { levelOfNumber, numbersOfLevels } from "../model/picture-levels";
import type { EngineState, FrameMaker, FrameRequest, MadeFrame, ProgramRequest } from "../session/frame-maker";
import { PartTimes } from "../session/part-times";
import type { LiveParameters, LivePrecision } from "../session/types";
import { picturesLength } from "./diffusion-batches";
import type { FrameBatch, FrameBatches } from "./frame-batch";
import { allocatePictures, type PictureMemory } from "./stream-memory";

/** How an engine is opened. */
export interface PictureEngineOptions<Batch extends FrameBatch = FrameBatch> {
  /** What makes frames. */
  batches: FrameBatches<Batch>;
  width: number;
  height: number;
  /** Whether programs measure the change between frames. */
  change: boolean;
  /** Frames that are begun before the one that is handed over is finished, to keep a GPU busy while pictures come and go. Default 0. */
  ahead?: number | undefined;
  /** Element type of activations; default float32 on the CPU and float16 on GPUs. */
  dtype?: DType | undefined;
  /** What pictures come in: levels by {@link PictureEngine.pushVideo}, or numbers in [-1, 1] by {@link PictureEngine.pushNumbers}. Default levels. */
  pictures?: "levels" | "numbers";
}

/** A frame on its way. */
interface BegunFrame {
  plan: Plan;
  memory: PictureMemory;
  request: FrameRequest;
  run: Promise<RunTimes>;
  /** It needs nothing of the frame before. */
  isAlone: boolean;
}

/** A place of pictures and what it was given last. */
interface Slot {
  memory: PictureMemory;
  pushed: number;
  blend: number | undefined;
}

/** Element types of activations by their names. */
export const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<
  LivePrecision,
  DType
>;

const keyOf = (steps: number, dtype: DType) => `${steps} ${dtype}`;

/** A state of the noise's generator, which a stream does not go on with: its noise stays. */
export const NO_GENERATOR = () => new Uint32Array(625);

/**
 * Makes each frame of a pushed picture: it goes to the device in 8 bits, one program does everything, and the frame comes back in 8 bits. No
 * buffer is made after the first frame.
 */
export class PictureEngine<Batch extends FrameBatch = FrameBatch> implements FrameMaker {
  readonly parts = new PartTimes();
  /** By {@link keyOf}. */
  private readonly opening = new Map<string, Promise<Batch>>();
  private readonly loaded = new Map<string, Batch>();
  private readonly history = new DriftHistory();
  private anchor: DriftAnchor | undefined;
  /** The newest picture, and how many there were. */
  private readonly video: Uint8Array | Float32Array;
  private pushed = 0;
  private blend = 0;
  private readonly underWay: BegunFrame[] = [];
  private begun = 0;
  private made = 0;
  /** Steps and element type of the frame begun last; frames on their way at others are out of date. */
  private last: string | undefined;

  private constructor(
    private readonly options: PictureEngineOptions<Batch>,
    private readonly dtype: DType,
    private readonly slots: Slot[],
    private readonly freeMemory: () => Promise<void>,
  ) {
    const count = options.width * options.height * 3;
    this.video = options.pictures === "numbers" ? new Float32Array(count) : new Uint8Array(count);
  }

  /**
   * Allocates the memory of a stream.
   *
   * @throws VdError `memory`
   */
  static async open<Batch extends FrameBatch>(options: PictureEngineOptions<Batch>): Promise<PictureEngine<Batch>> {
    requireFields("PictureEngine.open", options, {
      batches: OBJECT,
      width: COUNT,
      height: COUNT,
      ahead: optional(wholeFrom(0)),
    });
    const { batches, width, height, ahead = 0, pictures = "levels" } = options;
    const { device } = batches;
    await device.prepare();
    const video = pictures === "levels" ? "i8" : "f32";
    const { slots, free } = await allocatePictures(device, { width, height, slots: ahead + 1, video });
    const places = slots.map((memory) => ({ memory, pushed: -1, blend: undefined }));
    const dtype = options.dtype ?? (device.kind === "cpu" ? "f32" : "f16");
    const engine = new PictureEngine<Batch>(options, dtype, places, free);
    await engine.setContext();
    return engine;
  }

  get index(): number {
    return this.made;
  }

  async prepare({ steps, drift, precision }: ProgramRequest): Promise<void> {
    const { opening, options, slots } = this;
    const { width, height, batches } = options;
    const dtype = precision ? DTYPES[precision] : this.dtype;
    const key = keyOf(steps, dtype);
    const places = slots.map(({ memory }) => memory);
    const batch = opening.get(key) ?? batches.open({ width, height, dtype }, places, steps);
    opening.set(key, batch);
    try {
      const ready = await batch;
      this.loaded.set(key, ready);
      await ready.prepare(drift);
    } catch (error) {
      if (!this.loaded.has(key)) opening.delete(key);
      throw error;
    }
  }

  async tell(parameters: LiveParameters): Promise<void> {
    await this.settle();
    await this.options.batches.tell(parameters, this.loaded.values());
  }

  async make(request: FrameRequest): Promise<MadeFrame> {
    const { ahead = 0 } = this.options;
    while (this.underWay.length <= ahead) this.underWay.push(await this.begin(request));
    return this.finish(this.underWay.shift()!, request.into);
  }

  /** The newest frame of those that were begun, in the place that the next one finds it in. */
  private get newest(): PictureMemory["newest"] {
    return this.slots.at((this.begun % this.slots.length) - 1)!.memory.newest;
  }

  /** Whether a frame needs nothing of the one before: what it reads of it counts nothing where the pushed picture is all. Programs on the CPU have
   *  all threads each. */
  private standsAlone(batch: Batch, { drift }: FrameRequest): boolean {
    const { batches, change } = this.options;
    return batches.device.kind !== "cpu" && !batch.follows && !change && !drift && this.blend === 1;
  }

  /** Puts a frame on its way: its program runs beside those under way where none needs another, else as soon as they have run. */
  private async begin(request: FrameRequest): Promise<BegunFrame> {
    const { steps, drift, deep, precision, timing } = request;
    const key = keyOf(steps, precision ? DTYPES[precision] : this.dtype);
    if (!this.loaded.get(key)?.isReady(drift)) await this.prepare({ steps, drift, deep, precision });
    const batch = this.loaded.get(key)!;
    if (key !== this.last) batch.isEmpty = true;
    this.last = key;
    if (batch.waits) await this.settle();
    const at = this.begun++ % this.slots.length;
    const plan = batch.take(drift, at);
    const { memory } = this.give(this.slots[at]!);
    const isAlone = this.standsAlone(batch, request);
    const isBeside = isAlone && this.underWay.every((frame) => frame.isAlone);
    const before = isBeside || this.underWay.length === 0 ? undefined : Promise.all(this.underWay.map((of) => of.run));
    const start = () => plan.run({ timing });
    // Asked for before anybody else hears of the frame before, so that the device waits as little as can be.
    const run = before ? before.then(start) : start();
    // Told to whoever the frame is handed over to.
    run.catch(() => undefined);
    return { plan, memory, request, run, isAlone };
  }

  /** Writes what a place was not given yet. */
  private give(slot: Slot): Slot {
    const begun = performance.now();
    const { video, blend } = slot.memory;
    if (slot.pushed !== this.pushed) video.buffer.writeSync(this.video);
    if (slot.blend !== this.blend) blend.buffer.writeSync(Float32Array.of(this.blend));
    [slot.pushed, slot.blend] = [this.pushed, this.blend];
    this.parts.add("inputs", performance.now() - begun);
    return slot;
  }

  private async finish({ plan, memory, request, run }: BegunFrame, into: Uint8Array): Promise<MadeFrame> {
    const begun = performance.now();
    const times = await run;
    const ran = performance.now();
    memory.picture.buffer.readSync(into);
    const { steps, drift, timing } = request;
    const change = this.options.change ? { frame: plan.readSync("change.frame")[0]!, features: 0 } : undefined;
    const read = (name: string) => plan.readSync(name);
    const measured = drift ? driftMeasure(this.made, read, this.history, this.anchor) : undefined;
    this.anchor ??= measured;
    this.parts.add("run", ran - begun);
    this.parts.add("output", performance.now() - ran);
    if (timing) this.parts.addRows(plan.layout, times);
    return { index: this.made++, drift: measured, change, steps };
  }

  /** Waits for the frames on their way, which stay to be handed over. */
  private async settle(): Promise<void> {
    await Promise.allSettled(this.underWay.map(({ run }) => run));
  }

  /** Lets the frames on their way go. */
  private async drop(): Promise<void> {
    await this.settle();
    this.underWay.length = 0;
  }

  /** Takes a picture for the next frame that is begun, and for those after it until another one comes. */
  pushVideo(levels: Uint8Array, blend: number): void {
    const { video } = this;
    if (video instanceof Uint8Array) video.set(levels);
    else numbersOfLevels(levels, video);
    this.pushed++;
    this.blend = blend;
  }

  /** Does the same with numbers, [H,W,3] in [-1, 1], of an engine that was opened for them. */
  pushNumbers(numbers: Float32Array, blend: number): void {
    this.video.set(this.video instanceof Uint8Array ? Uint8Array.from(numbers, levelOfNumber) : numbers);
    this.pushed++;
    this.blend = blend;
  }

  setGuard(): void {}

  /** Begins anew: without a picture, frames come from grey. */
  async setContext(): Promise<void> {
    await this.drop();
    const { newest } = this;
    newest.buffer.writeSync(new Float32Array(newest.buffer.bytes / Float32Array.BYTES_PER_ELEMENT));
    this.video.fill(0);
    this.pushed++;
    this.blend = 0;
    for (const batch of this.loaded.values()) batch.clear();
    this.history.clear();
    this.anchor = undefined;
  }

  contextLength(steps: number): number {
    return this.options.batches.stateLength(steps) + picturesLength(this.options);
  }

  /** The batch of the frame before, if it had so many steps, else the one of the device's own type. */
  private async batchOfState(steps: number): Promise<[key: string, batch: Batch]> {
    const { last } = this;
    const newest = last === undefined ? undefined : this.loaded.get(last);
    if (last !== undefined && newest?.steps === steps) return [last, newest];
    await this.prepare({ steps, drift: false, deep: "none" });
    const key = keyOf(steps, this.dtype);
    return [key, this.loaded.get(key)!];
  }

  /** The state behind the frames on their way. */
  async save(steps: number): Promise<EngineState> {
    await this.settle();
    const [key, batch] = await this.batchOfState(steps);
    const context = new Float32Array(this.contextLength(steps));
    let at = 0;
    const keep = (numbers: ArrayLike<number>) => {
      context.set(numbers, at);
      at += numbers.length;
    };
    const read = (bytes: number) => new Float32Array(bytes / Float32Array.BYTES_PER_ELEMENT);
    for (const buffer of batch.stateBuffers()) keep(buffer.readSync(read(buffer.bytes)));
    const { video } = this;
    keep(video instanceof Uint8Array ? numbersOfLevels(video, new Float32Array(video.length)) : video);
    const newest = this.newest.buffer;
    keep(newest.readSync(read(newest.bytes)));
    keep([this.blend, batch.isEmpty || this.last !== key ? 1 : 0]);
    return { index: this.made, context, generator: NO_GENERATOR() };
  }

  /** Goes on from a state. */
  async restore({ index, context }: EngineState, steps: number): Promise<void> {
    await this.drop();
    const [key, batch] = await this.batchOfState(steps);
    let at = 0;
    const take = (count: number) => {
      at += count;
      return context.subarray(at - count, at);
    };
    for (const buffer of batch.stateBuffers()) buffer.writeSync(take(buffer.bytes / Float32Array.BYTES_PER_ELEMENT));
    const video = take(this.video.length);
    this.newest.buffer.writeSync(take(this.video.length));
    this.pushNumbers(video, take(1)[0]!);
    batch.isEmpty = take(1)[0] !== 0;
    this.last = key;
    this.made = index;
  }

  async free(): Promise<void> {
    await this.drop();
    for (const opening of this.opening.values()) await (await opening.catch(() => undefined))?.free();
    this.opening.clear();
    this.loaded.clear();
    await this.options.batches.free();
    await this.freeMemory();
  }
}
