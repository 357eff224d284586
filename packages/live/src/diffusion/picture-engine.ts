import { type Device, type DType, VdError } from "@vd/kernels-native";
import { type DriftAnchor, DriftHistory, driftMeasure } from "../drift/measure";
import type { EngineState, FrameMaker, FrameRequest, MadeFrame, ProgramRequest } from "../session/frame-maker";
import { PartTimes } from "../session/part-times";
import type { LiveParameters, LivePrecision } from "../session/types";
import { PromptEncoder } from "./prompt-encoder";
import { StreamBatch } from "./stream-batch";
import { allocatePictures, type Blocks, type PictureMemory } from "./stream-memory";
import type { DiffusionModel, GuidanceKind, StreamConditions, TemporalBlend } from "./types";

/** How an engine is opened. */
export interface PictureEngineOptions {
  model: DiffusionModel;
  device: Device;
  width: number;
  height: number;
  seed: number | bigint;
  guidance: GuidanceKind;
  /** Whether programs measure the change between frames. */
  change: boolean;
  conditions: StreamConditions;
  /** How latents are blended with those of the frame before; undefined: not at all. */
  temporalBlend?: TemporalBlend | undefined;
}

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<LivePrecision, DType>;

const keyOf = (steps: number, dtype: DType) => `${steps} ${dtype}`;

/** A state of the noise's generator, which a stream does not go on with: its noise stays. */
export const NO_GENERATOR = () => new Uint32Array(625);

/**
 * Checks the size of a stream's pictures.
 *
 * @throws VdError `attr` for one that the autoencoder does not have
 */
export function checkSize({ model, width, height }: Pick<PictureEngineOptions, "model" | "width" | "height">): void {
  const { factor } = model.codec;
  if (width % factor === 0 && height % factor === 0) return;
  const expected = `width and height in multiples of ${factor}`;
  throw new VdError({ code: "attr", where: "session] [size", expected, got: `${width} x ${height}` });
}

/** Numbers of a stream's state at so many steps. */
export function contextLengthOf(
  { width, height, model, temporalBlend }: Pick<PictureEngineOptions, "model" | "width" | "height" | "temporalBlend">,
  steps: number,
): number {
  const { factor, latentChannels } = model.codec;
  const latents = (width / factor) * (height / factor) * latentChannels;
  const before = temporalBlend ? 1 : 0;
  return latents * (Math.max(steps - 1, 1) + steps + before) + 2 * 3 * width * height + 2;
}

/** Makes each frame of a pushed picture and a text, by a model of the Stable Diffusion class. */
export class PictureEngine implements FrameMaker {
  readonly parts = new PartTimes();
  /** By {@link keyOf}. */
  private readonly batches = new Map<string, Promise<StreamBatch>>();
  private readonly loaded = new Map<string, StreamBatch>();
  private readonly encoder: PromptEncoder;
  private readonly history = new DriftHistory();
  private anchor: DriftAnchor | undefined;
  private conditions: StreamConditions;
  private made = 0;
  /** Steps and element type of the frame before; frames on their way at others are out of date. */
  private last: string | undefined;

  private constructor(
    private readonly options: PictureEngineOptions,
    private readonly dtype: DType,
    private readonly pictures: Blocks<PictureMemory>,
  ) {
    this.conditions = options.conditions;
    this.encoder = new PromptEncoder(options.model, options.device, dtype);
  }

  /**
   * Allocates the memory of a stream.
   *
   * @throws VdError `attr` for a size that the autoencoder does not have, `memory`
   */
  static async open(options: PictureEngineOptions): Promise<PictureEngine> {
    const { device, width, height } = options;
    checkSize(options);
    await device.prepare();
    const dtype = device.kind === "cpu" ? "f32" : "f16";
    const pictures = await allocatePictures(device, { width, height, dtype });
    const engine = new PictureEngine(options, dtype, pictures);
    await engine.setContext();
    return engine;
  }

  get index(): number {
    return this.made;
  }

  async prepare({ steps, drift, precision }: ProgramRequest): Promise<void> {
    const { batches } = this;
    const dtype = precision ? DTYPES[precision] : this.dtype;
    const key = keyOf(steps, dtype);
    const opening = batches.get(key) ?? this.openBatch(steps, dtype);
    batches.set(key, opening);
    try {
      const batch = await opening;
      this.loaded.set(key, batch);
      await batch.prepare(drift);
    } catch (error) {
      if (!this.loaded.has(key)) batches.delete(key);
      throw error;
    }
  }

  private async openBatch(steps: number, dtype: DType): Promise<StreamBatch> {
    const { width, height } = this.options;
    const texts = await this.encode(this.conditions);
    const size = { width, height, dtype };
    const batch = await StreamBatch.open({ ...this.options, size }, this.pictures, steps);
    await batch.tell(texts, this.conditions);
    return batch;
  }

  private async encode({ prompt, negativePrompt }: StreamConditions) {
    return { prompt: await this.encoder.encode(prompt), negative: await this.encoder.encode(negativePrompt) };
  }

  async tell(parameters: LiveParameters): Promise<void> {
    const conditions = { ...this.conditions, ...conditionsOf(parameters) };
    const texts = await this.encode(conditions);
    for (const batch of this.loaded.values()) {
      await batch.tell(texts, conditions);
      // Frames on their way have the noise of the strength that they began with.
      if (conditions.strength !== this.conditions.strength) batch.isEmpty = true;
    }
    this.conditions = conditions;
  }

  async make({ steps, drift, timing, into, deep, precision }: FrameRequest): Promise<MadeFrame> {
    const key = keyOf(steps, precision ? DTYPES[precision] : this.dtype);
    if (!this.loaded.get(key)?.isReady(drift)) await this.prepare({ steps, drift, deep, precision });
    const batch = this.loaded.get(key)!;
    if (key !== this.last) batch.isEmpty = true;
    this.last = key;
    const plan = batch.take(drift);
    const begun = performance.now();
    const times = await plan.run({ timing });
    const ran = performance.now();
    this.pictures.picture.buffer.readSync(into);
    const change = this.options.change ? { frame: plan.readSync("change.frame")[0]!, features: 0 } : undefined;
    const read = (name: string) => plan.readSync(name);
    const measured = drift ? driftMeasure(this.made, read, this.history, this.anchor) : undefined;
    this.anchor ??= measured;
    this.parts.add("run", ran - begun);
    this.parts.add("output", performance.now() - ran);
    if (timing) this.parts.addRows(plan.layout, times);
    return { index: this.made++, drift: measured, change };
  }

  /** Takes a picture for the next frame, and for those after it until another one comes. */
  pushVideo(pixels: Float32Array, blend: number): void {
    const begun = performance.now();
    this.pictures.video.buffer.writeSync(pixels);
    this.pictures.blend.buffer.writeSync(Float32Array.of(blend));
    this.parts.add("inputs", performance.now() - begun);
  }

  setGuard(): void {}

  /** Begins anew: without a picture, frames come from grey. */
  async setContext(): Promise<void> {
    const { video, blend, newest } = this.pictures;
    const grey = new Float32Array(this.options.width * this.options.height * 3);
    for (const { buffer } of [video, newest]) buffer.writeSync(grey);
    blend.buffer.writeSync(new Float32Array(1));
    for (const batch of this.loaded.values()) batch.clear();
    this.history.clear();
    this.anchor = undefined;
  }

  contextLength(steps: number): number {
    return contextLengthOf(this.options, steps);
  }

  /** The blocks that hold a stream's state at so many steps, in their order in a context. */
  private stateBlocks({ memory: { waiting, residual, before } }: StreamBatch) {
    const { video, newest, blend } = this.pictures;
    const kept = this.options.temporalBlend ? [before] : [];
    return [waiting, residual, ...kept, video, newest, blend].map(({ buffer }) => buffer);
  }

  /** The batch of the frame before, if it had so many steps, else the one of the device's own type. */
  private async batchOfState(steps: number): Promise<[key: string, batch: StreamBatch]> {
    const { last } = this;
    const newest = last === undefined ? undefined : this.loaded.get(last);
    if (last !== undefined && newest?.steps === steps) return [last, newest];
    await this.prepare({ steps, drift: false, deep: "none" });
    const key = keyOf(steps, this.dtype);
    return [key, this.loaded.get(key)!];
  }

  async save(steps: number): Promise<EngineState> {
    const [key, batch] = await this.batchOfState(steps);
    const context = new Float32Array(this.contextLength(steps));
    let at = 0;
    for (const buffer of this.stateBlocks(batch)) {
      const count = buffer.bytes / Float32Array.BYTES_PER_ELEMENT;
      context.set(buffer.readSync(new Float32Array(count)), at);
      at += count;
    }
    const isEmpty = batch.isEmpty || this.last !== key;
    context[at] = isEmpty ? 1 : 0;
    return { index: this.made, context, generator: NO_GENERATOR() };
  }

  async restore({ index, context }: EngineState, steps: number): Promise<void> {
    const [key, batch] = await this.batchOfState(steps);
    let at = 0;
    for (const buffer of this.stateBlocks(batch)) {
      const count = buffer.bytes / Float32Array.BYTES_PER_ELEMENT;
      buffer.writeSync(context.subarray(at, at + count));
      at += count;
    }
    batch.isEmpty = context[at] !== 0;
    this.last = key;
    this.made = index;
  }

  async free(): Promise<void> {
    for (const opening of this.batches.values()) await (await opening.catch(() => undefined))?.free();
    this.batches.clear();
    this.loaded.clear();
    await this.encoder.free();
    await this.pictures.free();
  }
}

/** Those of a session's parameters that a stream is told. */
export function conditionsOf(parameters: LiveParameters): Partial<StreamConditions> {
  const { prompt, negativePrompt, strength, guidanceScale, delta } = parameters;
  return Object.fromEntries(
    Object.entries({ prompt, negativePrompt, strength, guidanceScale, delta }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}
