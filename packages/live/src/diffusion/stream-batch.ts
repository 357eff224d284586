import type { Device } from "@vd/kernels-native";
import { consistencySteps } from "@vd/sampling";
import { CpuGenerator, type GraphLayout, layoutGraph, Plan, planesToPixels, runInSlices } from "@vd/tensor";
import { guidanceEmbedding } from "./guidance-embedding";
import { recordStream, type StreamProgram } from "./record-stream";
import type { PictureMemory } from "./stream-memory";
import { allocateBatch, type BatchMemory, type Blocks, extraCalls, type StreamSize } from "./stream-memory";
import type { DiffusionModel, GuidanceKind, StreamConditions, TemporalBlend } from "./types";

/** How a stream's batches are made. */
export interface BatchOptions {
  model: DiffusionModel;
  device: Device;
  size: StreamSize;
  guidance: GuidanceKind;
  seed: number | bigint;
  /** Whether programs measure the change between frames. */
  change: boolean;
  /** How latents are blended with those of the frame before; undefined: not at all. */
  temporalBlend?: TemporalBlend | undefined;
}

/** States of the two texts, [L,D] each. */
export interface TextStates {
  prompt: Float32Array;
  negative: Float32Array;
}

/** Unit noise of all steps, `torch.randn` of one generator in planes, as pixels. */
function drawNoise({ model, size, seed }: BatchOptions, steps: number): Float32Array {
  const { factor, latentChannels: channels } = model.codec;
  const [height, width] = [size.height / factor, size.width / factor];
  const planes = new CpuGenerator(seed).randn(steps * channels * height * width);
  return planesToPixels(planes, [steps, channels, height, width], new Float32Array(planes.length));
}

/** A stream at one number of steps: its memory, what its network is told, and its programs. */
export class StreamBatch {
  private readonly plans = new Map<string, Promise<Plan>>();
  private readonly ready = new Map<string, Plan>();
  /** True if no frame is on its way: the next one begins all steps with its own picture. */
  isEmpty = true;
  /** The weight of the frame before that the programs have. */
  private weight: number | undefined;

  private constructor(
    private readonly options: BatchOptions,
    private readonly pictures: PictureMemory,
    readonly steps: number,
    readonly memory: Blocks<BatchMemory>,
    private readonly conditions: Plan,
  ) {}

  /** Allocates memory and loads what fills it. @throws VdError `memory` */
  static async open(options: BatchOptions, pictures: PictureMemory, steps: number): Promise<StreamBatch> {
    const { model, device, size, guidance } = options;
    const memory = await allocateBatch(device, model, size, steps, guidance);
    try {
      const layout = await conditionsLayout(options, memory, steps);
      const conditions = await Plan.load(device, layout, { name: `conditions ${steps}` });
      memory.noise.buffer.writeSync(drawNoise(options, steps));
      const batch = new StreamBatch(options, pictures, steps, memory, conditions);
      batch.clear();
      return batch;
    } catch (error) {
      await memory.free();
      throw error;
    }
  }

  private get calls(): number {
    return this.steps + extraCalls(this.options.guidance, this.steps);
  }

  /** Forgets the frames that are on their way, and the residual noise. */
  clear(): void {
    const { residual, waiting } = this.memory;
    residual.buffer.writeSync(new Float32Array(residual.buffer.bytes / Float32Array.BYTES_PER_ELEMENT));
    waiting.buffer.writeSync(new Float32Array(waiting.buffer.bytes / Float32Array.BYTES_PER_ELEMENT));
    this.isEmpty = true;
  }

  /** Tells the network another text, strength or guidance. */
  async tell(texts: TextStates, { strength, guidanceScale, delta }: StreamConditions): Promise<void> {
    const { calls, steps, memory, conditions, options } = this;
    const { model } = options;
    const rows = consistencySteps(model.scheduler, { steps, strength });
    const timesteps = rows.map(({ timestep }) => timestep);
    const extra = calls - steps;
    const write = (name: "signal" | "level" | "ofSample" | "ofPrediction" | "ofResidual" | "ofGuided", of: number[]) =>
      memory[name].buffer.writeSync(Float32Array.from(of));
    write(
      "signal",
      rows.map(({ signal }) => signal),
    );
    write(
      "level",
      rows.map(({ noise }) => noise),
    );
    write(
      "ofSample",
      rows.map(({ ofSample }) => ofSample),
    );
    write(
      "ofPrediction",
      rows.map(({ ofPrediction }) => ofPrediction),
    );
    // Behind the last step there is neither noise nor a smaller signal.
    const next = rows.map((_, i) => (rows[i + 1] ? rows[i + 1]!.signal / rows[i + 1]!.noise : 1));
    write(
      "ofResidual",
      rows.map(({ ofSample, noise }, i) => ofSample * noise * next[i]!),
    );
    write(
      "ofGuided",
      rows.map(({ ofPrediction }, i) => ofPrediction * next[i]!),
    );
    memory.scale.buffer.writeSync(Float32Array.of(guidanceScale));
    memory.delta.buffer.writeSync(Float32Array.of(delta));
    await conditions.write("timestep", Float32Array.from([...timesteps.slice(0, extra), ...timesteps]));
    const states = new Float32Array(calls * texts.prompt.length);
    for (let row = 0; row < calls; row++)
      states.set(row < extra ? texts.negative : texts.prompt, row * texts.prompt.length);
    await conditions.write("states", states);
    const { guidanceChannels } = model.unet.config;
    if (guidanceChannels !== undefined)
      await conditions.write("guidance", guidanceEmbedding(guidanceScale, guidanceChannels));
    await conditions.run();
  }

  private keyOf = ({ first, drift }: Pick<StreamProgram, "first" | "drift">) => `${first} ${drift}`;

  /** Loads the programs of such frames, unless they are loaded. */
  async prepare(drift: boolean): Promise<void> {
    for (const first of this.steps > 1 ? [true, false] : [true]) await this.load({ first, drift });
  }

  /** True if {@link prepare} has loaded such frames. */
  isReady(drift: boolean): boolean {
    return this.ready.has(this.keyOf({ first: this.steps === 1, drift }));
  }

  private async load(which: Pick<StreamProgram, "first" | "drift">): Promise<void> {
    const { model, device, size, guidance, change, temporalBlend } = this.options;
    const { steps, memory: batch, pictures } = this;
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

  /** Sets how the next frame is blended: a stream's first one not at all, since no frame is before it. */
  private setTemporalBlend({ weight, threshold }: TemporalBlend): void {
    const wanted = this.isEmpty ? 0 : weight;
    if (wanted === this.weight) return;
    this.memory.temporal.buffer.writeSync(Float32Array.of(wanted, threshold));
    this.weight = wanted;
  }

  /** The program of the next frame; {@link prepare} has loaded it. With one step every frame is a first one. */
  take(drift: boolean): Plan {
    const first = this.isEmpty || this.steps === 1;
    if (this.options.temporalBlend) this.setTemporalBlend(this.options.temporalBlend);
    this.isEmpty = false;
    return this.ready.get(this.keyOf({ first, drift }))!;
  }

  async free(): Promise<void> {
    for (const loading of this.plans.values()) await (await loading.catch(() => undefined))?.free();
    this.plans.clear();
    this.ready.clear();
    await this.conditions.free();
    await this.memory.free();
  }
}

/** The program that makes of timesteps and texts what the network is told. */
function conditionsLayout(
  { model, size, guidance }: BatchOptions,
  { time, text }: BatchMemory,
  steps: number,
): Promise<GraphLayout> {
  const { unet, text: encoder } = model;
  const calls = steps + extraCalls(guidance, steps);
  const { guidanceChannels } = unet.config;
  const { maxTokens, hiddenSize } = encoder.config;
  return runInSlices(
    layoutGraph.inPieces(
      function* (g) {
        const embedded = guidanceChannels === undefined ? undefined : g.input("guidance", [1, 1, 1, guidanceChannels]);
        const timestep = g.input("timestep", [1, calls], "f32");
        yield* unet.conditionTime.inPieces(g, { timestep, guidance: embedded }, time.tensor);
        yield* unet.conditionText.inPieces(g, g.input("states", [1, calls, maxTokens, hiddenSize]), text.tensor);
      },
      { dtype: size.dtype },
    ),
  );
}
