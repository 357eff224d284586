import { type DType, sharedFloats } from "@vd/kernels-native";
import type { NamedDevice } from "@vd/tensor";
import { type FrameInputs, FramePipeline } from "../devices/frame-pipeline";
import { type DriftAnchor, DriftHistory, driftMeasure } from "../drift/measure";
import { DRIFT_OUTPUTS } from "../drift/record";
import type { DriftMeasure } from "../drift/types";
import { type PlacedTensor, placeTensor } from "../model/frame-memory";
import { levelOfNumber, numbersOfLevels } from "../model/picture-levels";
import type { EngineState, FrameMaker, FrameRequest, MadeFrame, ProgramRequest } from "../session/frame-maker";
import { PartTimes } from "../session/part-times";
import type { LiveParameters } from "../session/types";
import { checkSize, conditionsOf } from "./conditions";
import { contextLengthOf, type DiffusionBatchesOptions } from "./diffusion-batches";
import { NO_GENERATOR } from "./picture-engine";
import { PromptEncoder } from "./prompt-encoder";
import { splitParts } from "./split-parts";
import { StepBatch } from "./step-batch";
import type { StreamConditions } from "./types";

/** How an engine over two devices is opened. */
export interface SplitEngineOptions extends Omit<DiffusionBatchesOptions, "device"> {
  /** Width and height of pictures in pixels. */
  width: number;
  height: number;
  /** What encodes and decodes runs on the second one. */
  devices: readonly [denoiser: NamedDevice, autoencoder: NamedDevice];
  /** Whether programs measure drift. */
  drift: boolean;
}

/** The levels whose bytes an array holds: kernels read bytes as signed ones. */
const levelsIn = ({ buffer, length }: Int8Array) => new Uint8Array(buffer, 0, length);

/** Frames that are on their way behind the one that is handed over: one for each part but one. */
const LAG = 2;

/** A number of steps: its batch and the parts that make its frames. */
interface SplitBatch {
  batch: StepBatch;
  pipeline: FramePipeline;
  /** True if no frame is on its way. */
  isEmpty: boolean;
  /** The picture that the encoder has. */
  given: Int8Array | undefined;
  givenBlend: number | undefined;
}

/**
 * Makes frames of pushed pictures on two devices: while the denoiser works on a frame, the autoencoder's device decodes the one before and
 * encodes the next. A picture's frame comes two frames later; each is what one device makes of the same pictures. Where frames
 * follow from those before (`blend` below 1), one after the other is made.
 */
export class SplitEngine implements FrameMaker {
  readonly parts = new PartTimes();
  private readonly batches = new Map<number, Promise<SplitBatch>>();
  private readonly encoder: PromptEncoder;
  private readonly history = new DriftHistory();
  private anchor: DriftAnchor | undefined;
  private underWay: Promise<Map<string, Uint8Array>>[] = [];
  /** Pictures in turn, in memory that worker threads read in place: those of frames on their way must not change. */
  private readonly videos: Int8Array[];
  private video: Int8Array;
  private pushed = 0;
  private blend = 0;
  private conditions: StreamConditions;
  private made = 0;
  private lastSteps: number | undefined;

  private constructor(
    private readonly options: SplitEngineOptions,
    private readonly dtype: DType,
    private readonly newest: PlacedTensor,
  ) {
    const { conditions, model, devices, width, height } = options;
    this.conditions = conditions;
    this.encoder = new PromptEncoder(model, devices[0].device, dtype);
    const bytes = 3 * width * height;
    this.videos = Array.from(
      { length: LAG + 3 },
      () => new Int8Array(sharedFloats(Math.ceil(bytes / 4)).buffer, 0, bytes),
    );
    this.video = this.videos[0]!;
  }

  /**
   * Allocates what frames leave behind.
   *
   * @throws VdError `attr` for a size that the autoencoder does not have, `memory`
   */
  static async open(options: SplitEngineOptions): Promise<SplitEngine> {
    const { devices, width, height } = options;
    checkSize(options, options.model.codec.factor);
    for (const { device } of devices) await device.prepare();
    const [, { device }] = devices;
    const newest = await placeTensor(device, "state", "newest", [1, 1, height, width, 3]);
    return new SplitEngine(options, device.kind === "cpu" ? "f32" : "f16", newest);
  }

  get index(): number {
    return this.made;
  }

  async prepare({ steps }: Pick<ProgramRequest, "steps">): Promise<void> {
    await this.batchOf(steps);
  }

  private async batchOf(steps: number): Promise<SplitBatch> {
    const opening = this.batches.get(steps) ?? this.openBatch(steps);
    this.batches.set(steps, opening);
    try {
      return await opening;
    } catch (error) {
      this.batches.delete(steps);
      throw error;
    }
  }

  private async openBatch(steps: number): Promise<SplitBatch> {
    const { options, dtype, newest } = this;
    const { width, height, devices, model, guidance, seed } = options;
    const size = { width, height, dtype };
    const batch = await StepBatch.open({ model, guidance, seed, size, device: devices[0].device }, steps);
    try {
      await batch.tell(await this.texts(), this.conditions);
      const pipeline = await FramePipeline.open(splitParts(options, { batch: batch.memory, newest, dtype, steps }));
      return { batch, pipeline, isEmpty: true, given: undefined, givenBlend: undefined };
    } catch (error) {
      await batch.free();
      throw error;
    }
  }

  private async texts() {
    const { prompt, negativePrompt } = this.conditions;
    return { prompt: await this.encoder.encode(prompt), negative: await this.encoder.encode(negativePrompt) };
  }

  async tell(parameters: LiveParameters): Promise<void> {
    const before = this.conditions;
    this.conditions = { ...before, ...conditionsOf(parameters) };
    await this.settle();
    const texts = await this.texts();
    for (const opening of this.batches.values()) {
      const split = await opening;
      await split.batch.tell(texts, this.conditions);
      if (this.conditions.strength !== before.strength) split.isEmpty = true;
    }
  }

  async make({ steps, into, drift }: FrameRequest): Promise<MadeFrame> {
    const split = await this.batchOf(steps);
    if (steps !== this.lastSteps) {
      await this.drop();
      split.isEmpty = true;
    }
    this.lastSteps = steps;
    const begun = performance.now();
    while (this.underWay.length <= LAG) await this.begin(split);
    const outputs = await this.underWay.shift()!;
    this.parts.add("run", performance.now() - begun);
    into.set(outputs.get("picture")!);
    const read = (name: string) => floatsOf(outputs.get(name)!);
    const change = this.options.change ? { frame: read("change.frame")[0]!, features: 0 } : undefined;
    const measured = drift ? this.measure(read) : undefined;
    return { index: this.made++, drift: measured, change };
  }

  private measure(read: (name: string) => Float32Array): DriftMeasure {
    const measured = driftMeasure(this.made, read, this.history, this.anchor);
    this.anchor ??= measured;
    return measured;
  }

  /** Puts a frame on its way. */
  private async begin(split: SplitBatch): Promise<void> {
    const { blend, video, options } = this;
    // Such a frame begins with the newest one.
    if (blend < 1) await this.settle();
    const inputs: Record<string, ArrayLike<number>> = {};
    if (split.given !== video) inputs.video = video;
    if (split.givenBlend !== blend) inputs.blend = [blend];
    Object.assign(split, { given: video, givenBlend: blend });
    const variants = split.isEmpty ? { denoiser: "first" } : {};
    split.isEmpty = false;
    const outputs = ["picture", ...(options.change ? ["change.frame"] : []), ...(options.drift ? DRIFT_OUTPUTS : [])];
    const frame = split.pipeline.frame([inputs] as FrameInputs, outputs, variants);
    // Told to whoever the frame is handed over to.
    frame.catch(() => undefined);
    this.underWay.push(frame);
  }

  /** Waits for the frames on their way, which stay to be handed over. */
  private async settle(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  /** Lets the frames on their way go. */
  private async drop(): Promise<void> {
    await this.settle();
    this.underWay = [];
  }

  pushVideo(levels: Uint8Array, blend: number): void {
    levelsIn(this.nextVideo(blend)).set(levels);
  }

  /** The place of the newest picture, which takes the one before's. */
  private nextVideo(blend: number): Int8Array {
    this.video = this.videos[++this.pushed % this.videos.length]!;
    this.blend = blend;
    return this.video;
  }

  setGuard(): void {}

  /** Begins anew: without a picture, frames come from grey. */
  async setContext(): Promise<void> {
    await this.drop();
    const grey = new Float32Array(this.video.length);
    this.newest.buffer.writeSync(grey);
    this.nextVideo(0).fill(0);
    for (const opening of this.batches.values()) {
      const split = await opening;
      split.batch.clear();
      split.isEmpty = true;
    }
    this.history.clear();
    this.anchor = undefined;
  }

  contextLength(steps: number): number {
    return contextLengthOf(this.options, steps);
  }

  /** The state behind the frames on their way, in the order in which one device has it. */
  async save(steps: number): Promise<EngineState> {
    await this.settle();
    const split = await this.batchOf(steps);
    const { waiting, residual } = split.batch.memory;
    const read = ({ buffer }: PlacedTensor) => buffer.readSync(new Float32Array(buffer.bytes / 4));
    const isEmpty = split.isEmpty || this.lastSteps !== steps ? 1 : 0;
    const video = numbersOfLevels(levelsIn(this.video), new Float32Array(this.video.length));
    const rows = [read(waiting), read(residual), video, read(this.newest), [this.blend], [isEmpty]];
    const context = new Float32Array(this.contextLength(steps));
    let at = 0;
    for (const row of rows) {
      context.set(row, at);
      at += row.length;
    }
    return { index: this.made, context, generator: NO_GENERATOR() };
  }

  /** Goes on from a state, also of one device. */
  async restore({ index, context }: EngineState, steps: number): Promise<void> {
    await this.drop();
    const split = await this.batchOf(steps);
    const { waiting, residual } = split.batch.memory;
    let at = 0;
    const take = (count: number) => {
      at += count;
      return context.subarray(at - count, at);
    };
    for (const { buffer } of [waiting, residual]) buffer.writeSync(take(buffer.bytes / 4));
    const video = take(this.video.length);
    this.newest.buffer.writeSync(take(this.video.length));
    levelsIn(this.nextVideo(take(1)[0]!)).set(Uint8Array.from(video, levelOfNumber));
    split.isEmpty = take(1)[0] !== 0;
    this.lastSteps = steps;
    this.made = index;
  }

  async free(): Promise<void> {
    await this.drop();
    for (const opening of this.batches.values()) {
      const split = await opening.catch(() => undefined);
      await split?.pipeline.close();
      await split?.batch.free();
    }
    this.batches.clear();
    await this.encoder.free();
    await this.newest.buffer.free();
  }
}

const floatsOf = (bytes: Uint8Array) => new Float32Array(bytes.slice().buffer);
