import type { Device } from "@vd/kernels-native";
import { channelRange, layoutGraph, Plan, runInSlices } from "@vd/tensor";
import { type DriftAnchor, DriftHistory, driftMeasure } from "../drift/measure";
import { recordDrift } from "../drift/record";
import type { DriftMeasure } from "../drift/types";
import { allocateFrameMemory, type FrameMemory, readContext, writeContext } from "../model/frame-memory";
import type { LiveModel } from "../model/live-model";
import { numbersOfLevels } from "../model/picture-levels";
import { type FrameGuard, type FrameProgram, recordFrame } from "../model/record-frame";
import type { EngineState, FrameMaker, FrameRequest, GuardAmounts, MadeFrame, ProgramRequest } from "./frame-maker";
import type { LiveLook } from "./look";
import { NoiseStream } from "./noise";
import { PartTimes } from "./part-times";

/** How an engine is opened. */
export interface EngineOptions {
  model: LiveModel;
  device: Device;
  width: number;
  height: number;
  seed: number | bigint;
  /** Whether programs measure the change between frames. */
  change: boolean;
}

const ZERO = new Float32Array(1);

/** Less contrast or detail than this is none: half a level of 255, in units of pixels in [-1, 1]. */
const FLAT = 1 / 255;
const NO_GUARD: FrameGuard = { renoise: false, hold: false };

const keyOf = ({ steps, deep, guard, change, drift }: FrameProgram) =>
  [steps, deep, guard.renoise, guard.hold, change, drift].join(" ");

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
  /** Made when a guard first adds noise. */
  private contextNoise: NoiseStream | undefined;
  readonly parts = new PartTimes();

  private constructor(
    private readonly options: EngineOptions,
    private readonly memory: FrameMemory,
    private readonly noise: NoiseStream,
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
    const { model, device, width, height, seed } = options;
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
    return new FrameEngine(options, memory, new NoiseStream(seed, width * height * 3));
  }

  /** Number of the next frame. */
  get index(): number {
    return this.made;
  }

  private program(request: ProgramRequest): FrameProgram {
    const { steps, deep, drift, guard = NO_GUARD } = request;
    const { change } = this.options;
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
    const further = request.guard?.renoise ? this.openContextNoise() : undefined;
    const contextNoise = await further?.next();
    const drawn = performance.now();
    this.writeInputs(request.action, noise, contextNoise);
    this.noise.drawAhead();
    further?.drawAhead();
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

  private openContextNoise(): NoiseStream {
    this.contextNoise ??= new NoiseStream(BigInt(this.options.seed) + 1n, this.contextLength());
    return this.contextNoise;
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

  /** Sets what the guard adds, and how far it holds frames to what look. */
  setGuard({ renoise, anchor, recover }: GuardAmounts, { mean, deviation, contrast, detail }: LiveLook): void {
    const { memory } = this;
    // Where there is no liveliness to begin with, none can be missing.
    const isFlat = Math.min(contrast, detail) < FLAT;
    // There from before the first such frame on, so that a snapshot of then has it.
    if (renoise > 0) this.openContextNoise();
    memory.renoise.buffer.writeSync(Float32Array.of(renoise));
    memory.holdAmounts.buffer.writeSync(Float32Array.of(anchor, isFlat ? 0 : recover));
    memory.holdMean.buffer.writeSync(Float32Array.from(mean));
    memory.holdDeviation.buffer.writeSync(Float32Array.from(deviation));
    memory.holdLiveliness.buffer.writeSync(isFlat ? Float32Array.of(1, 1) : Float32Array.of(1 / contrast, 1 / detail));
  }

  /** A game takes no words: the options' check has refused them. */
  async tell(): Promise<void> {}

  contextLength(): number {
    const { width, height, model } = this.options;
    return width * height * 3 * model.info.contextFrames;
  }

  /** Goes on from a context; with drift, measures are compared with it from now on. */
  async setContext(context: Float32Array, measured: boolean): Promise<void> {
    await runInSlices(writeContext.inPieces(this.memory, context));
    this.memory.recovery.buffer.writeSync(ZERO);
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
    const context = await runInSlices(readContext.inPieces(this.memory));
    const contextGenerator = this.contextNoise?.save();
    const recovery = this.memory.recovery.buffer.readSync(new Float32Array(1))[0]!;
    const guard = { ...(contextGenerator && { contextGenerator }), ...(recovery > 0 && { recovery }) };
    return { index: this.made, context, generator: this.noise.save(), ...guard };
  }

  /** Goes on from a saved state. */
  async restore({ index, context, generator, contextGenerator, recovery = 0 }: EngineState): Promise<void> {
    await this.noise.restore(generator);
    if (contextGenerator) await this.openContextNoise().restore(contextGenerator);
    this.memory.recovery.buffer.writeSync(Float32Array.of(recovery));
    await runInSlices(writeContext.inPieces(this.memory, context));
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
