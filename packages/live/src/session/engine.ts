import type { Device } from "@vd/kernels-native";
import { channelRange, layoutGraph, Plan, runInSlices } from "@vd/tensor";
import { type DriftAnchor, DriftHistory, driftMeasure } from "../drift/measure";
import { recordDrift } from "../drift/record";
import type { DriftMeasure } from "../drift/types";
import { allocateFrameMemory, type FrameMemory, readContext, writeContext } from "../model/frame-memory";
import type { LiveModel } from "../model/live-model";
import { numbersOfLevels } from "../model/picture-levels";
import { type FrameProgram, recordFrame } from "../model/record-frame";
import type { ChannelMoments, EngineState, FrameMaker, FrameRequest, MadeFrame, ProgramRequest } from "./frame-maker";
import { NoiseStream } from "./noise";
import { PartTimes } from "./part-times";

/** How an engine is opened. */
export interface EngineOptions {
  model: LiveModel;
  device: Device;
  width: number;
  height: number;
  seed: number | bigint;
  /** Whether programs have the guard's rows. */
  guard: boolean;
  /** Whether programs measure the change between frames. */
  change: boolean;
}

/** Returns mean and standard deviation of each colour channel over all frames. context: [H,W,3 · frames]. */
export function channelMoments(context: Float32Array): ChannelMoments {
  const count = context.length / 3;
  const mean = [0, 0, 0];
  const square = [0, 0, 0];
  for (let i = 0; i < context.length; i++) {
    mean[i % 3]! += context[i]! / count;
    square[i % 3]! += context[i]! ** 2 / count;
  }
  return { mean, deviation: square.map((value, c) => Math.sqrt(Math.max(0, value - mean[c]! ** 2))) };
}

const ZERO = new Float32Array(1);

const keyOf = ({ steps, deep, guard, change, drift }: FrameProgram) => [steps, deep, guard, change, drift].join(" ");

/** Makes frames: owns the memory that all programs share, the programs and the noise. One call at a time. */
export class FrameEngine implements FrameMaker {
  private readonly plans = new Map<string, Promise<Plan>>();
  private readonly ready = new Map<string, Plan>();
  private readonly actionRow: Float32Array;
  /** Numbers of the newest picture. */
  private readonly video: Float32Array;
  private readonly history = new DriftHistory();
  private anchor: DriftAnchor | undefined;
  private made = 0;
  readonly parts = new PartTimes();

  private constructor(
    private readonly options: EngineOptions,
    private readonly memory: FrameMemory,
    private readonly noise: NoiseStream,
    private readonly contextNoise: NoiseStream | undefined,
  ) {
    this.actionRow = new Float32Array(options.model.info.actions.length);
    this.video = new Float32Array(options.width * options.height * 3);
  }

  /**
   * Allocates the memory of a session.
   *
   * @throws VdError `memory`
   */
  static async open(options: EngineOptions): Promise<FrameEngine> {
    const { model, device, width, height, seed, guard } = options;
    const { contextFrames, actions } = model.info;
    await device.prepare();
    const features = model.network.deepFeatures(1, height, width);
    const memory = await allocateFrameMemory(device, {
      width,
      height,
      contextFrames,
      actions: actions.length,
      features,
    });
    const pixels = width * height * 3;
    const further = guard ? new NoiseStream(BigInt(seed) + 1n, pixels * contextFrames) : undefined;
    return new FrameEngine(options, memory, new NoiseStream(seed, pixels), further);
  }

  /** Number of the next frame. */
  get index(): number {
    return this.made;
  }

  private program(request: ProgramRequest): FrameProgram {
    const { steps, deep, drift } = request;
    const { guard, change } = this.options;
    return { steps, deep, drift, guard, change };
  }

  /** Loads the program of such frames, unless it is loaded. The event loop turns meanwhile. */
  async prepare(request: ProgramRequest): Promise<void> {
    const program = this.program(request);
    const key = keyOf(program);
    const load = async () => {
      const { model, device } = this.options;
      const layout = await runInSlices(layoutGraph.inPieces((g) => recordFrame(g, model, this.memory, program)));
      return Plan.load(device, layout, { capture: device.kind !== "cpu", name: `frame ${key}` });
    };
    const loading = this.plans.get(key) ?? load();
    this.plans.set(key, loading);
    try {
      this.ready.set(key, await loading);
    } catch (error) {
      this.plans.delete(key);
      throw error;
    }
  }

  /** True if {@link prepare} has loaded the program of such frames. */
  isReady(request: ProgramRequest): boolean {
    return this.ready.has(keyOf(this.program(request)));
  }

  /** Makes the next frame. What comes in by {@link pushVideo} is used once. */
  async make(request: FrameRequest): Promise<MadeFrame> {
    if (!this.isReady(request)) await this.prepare(request);
    const plan = this.ready.get(keyOf(this.program(request)))!;
    const begun = performance.now();
    const noise = await this.noise.next();
    const contextNoise = await this.contextNoise?.next();
    const drawn = performance.now();
    this.writeInputs(request.action, noise, contextNoise);
    this.noise.drawAhead();
    this.contextNoise?.drawAhead();
    const written = performance.now();
    const times = await plan.run({ timing: request.timing });
    const ran = performance.now();
    this.memory.picture.buffer.readSync(request.into);
    this.memory.blend.buffer.writeSync(ZERO);
    const change = this.readChange(plan);
    const drift = request.drift ? this.readDrift(plan, this.made) : undefined;
    this.parts.add("noise", drawn - begun);
    this.parts.add("inputs", written - drawn);
    this.parts.add("run", ran - written);
    this.parts.add("output", performance.now() - ran);
    if (request.timing) this.parts.addRows(plan.layout, times);
    return { index: this.made++, drift, change };
  }

  private writeInputs(action: number, noise: Float32Array, contextNoise: Float32Array | undefined): void {
    this.actionRow.fill(0);
    this.actionRow[action] = 1;
    this.memory.action.buffer.writeSync(this.actionRow);
    this.memory.noise.buffer.writeSync(noise);
    if (contextNoise) this.memory.contextNoise.buffer.writeSync(contextNoise);
  }

  private readChange(plan: Plan): MadeFrame["change"] {
    if (!this.options.change) return undefined;
    return { frame: plan.readSync("change.frame")[0]!, features: plan.readSync("change.features")[0]! };
  }

  private readDrift(plan: Plan, frame: number): DriftMeasure {
    return driftMeasure(frame, (name) => plan.readSync(name), this.history, this.anchor);
  }

  /** Takes video in for the next frame. levels: [H,W,3]; blend: their part in the newest context frame. */
  pushVideo(levels: Uint8Array, blend: number): void {
    this.memory.video.buffer.writeSync(numbersOfLevels(levels, this.video));
    this.memory.blend.buffer.writeSync(Float32Array.of(blend));
  }

  /** Sets what the guard adds and holds. anchor: [mean, deviation] of each channel to draw towards. */
  setGuard(renoise: number, amount: number, anchor: ChannelMoments): void {
    const times = (values: readonly number[]) => Float32Array.from(values, (value) => value * amount);
    this.memory.renoise.buffer.writeSync(Float32Array.of(renoise));
    this.memory.keep.buffer.writeSync(Float32Array.of(1 - amount, 1 - amount, 1 - amount));
    this.memory.anchorMean.buffer.writeSync(times(anchor.mean));
    this.memory.anchorDeviation.buffer.writeSync(times(anchor.deviation));
  }

  /** A game takes no words: the options' check has refused them. */
  async tell(): Promise<void> {}

  contextLength(): number {
    const { width, height, model } = this.options;
    return width * height * 3 * model.info.contextFrames;
  }

  /** Goes on from a context; with drift, measures are compared with it from now on. */
  async setContext(context: Float32Array, measured: boolean): Promise<void> {
    writeContext(this.memory, context);
    this.history.clear();
    this.anchor = undefined;
    if (measured) this.anchor = await this.measureContext();
  }

  /** How the context's newest frame looks. */
  private async measureContext(): Promise<DriftMeasure> {
    const { tensor } = this.memory.context;
    const channels = tensor.dims[4]!;
    const before = channelRange(tensor, channels - 3, channels);
    const layout = layoutGraph((g) => recordDrift(g, this.memory.newest.tensor, before));
    const plan = await Plan.load(this.options.device, layout, { name: "start" });
    try {
      await plan.run();
      return driftMeasure(0, (name) => plan.readSync(name), new DriftHistory());
    } finally {
      await plan.free();
    }
  }

  /** Context and generators behind the newest frame. */
  async save(): Promise<EngineState> {
    const context = readContext(this.memory);
    const guard = this.contextNoise?.save();
    return { index: this.made, context, generator: this.noise.save(), ...(guard ? { contextGenerator: guard } : {}) };
  }

  /** Goes on from a saved state. */
  async restore({ index, context, generator, contextGenerator }: EngineState): Promise<void> {
    await this.noise.restore(generator);
    if (contextGenerator) await this.contextNoise?.restore(contextGenerator);
    writeContext(this.memory, context);
    this.memory.blend.buffer.writeSync(ZERO);
    this.made = index;
  }

  /** Bytes of the blocks that all programs share and of the largest program. */
  get peakBytes(): number {
    return Math.max(0, ...[...this.ready.values()].map(({ memory }) => memory.peakBytes));
  }

  /** Frees everything; no frame may be under way. */
  async free(): Promise<void> {
    await this.noise.settle();
    await this.contextNoise?.settle();
    for (const loading of this.plans.values()) await (await loading.catch(() => undefined))?.free();
    this.plans.clear();
    this.ready.clear();
    await this.memory.free();
  }
}
