import { countOf } from "@vd/kernels-native";
import type { LinearSteps, Sampler } from "@vd/sampling";
import type { GraphLayout, PlaneDims } from "@vd/tensor";
import { type DenoisingPlan, drawsNoiseAt, type Stepper } from "./denoise";
import { finiteValues } from "./finite";
import type { StepperMemory } from "./stepper-memory";
import { restoreStates, type StoredStates, savedStates } from "./stored-states";

/** What a {@link DeviceStepper} works with. */
export interface DeviceStepperInput {
  /** A loaded plan of `sampleStage`. */
  plan: DenoisingPlan;
  /** The states of that plan, to be saved and restored. */
  states: StoredStates;
  sampler: Sampler;
  /** The sampler's steps as matrices. */
  linear: LinearSteps;
  dims: PlaneDims;
  /** At the first noise level, [F,C,h,w]; the result takes their place. */
  latents: Float32Array;
  /** Fills the plan's states `x` and `input` from latents [F,C,h,w] and the factor of the next call's input. */
  fill(latents: Float32Array, inputScale: number): Promise<void>;
  /** Draws unit noise for samplers that add some, [F,h,w,C]. */
  noise(): Promise<Float32Array>;
  /** Begins to draw what {@link noise} gives next, while the device computes. */
  drawNoiseAhead?: (() => void) | undefined;
  /** Begins what the host can do while the device makes a call. */
  whileComputing?: (() => void) | undefined;
  /** Says where the step on the device draws it instead; undefined where it is given. */
  philox?: (() => Int32Array) | undefined;
  /** Whether nobody looks at the latents, or changes them, between calls: the next call may then be queued behind the one that is under way. */
  callsFollow?: boolean | undefined;
  /** Of an earlier stepper that this one goes on from, instead of the latents. */
  memory?: StepperMemory | undefined;
  signal?: AbortSignal | undefined;
}

/** A call that takes longer is not queued behind another: what is queued cannot be cancelled, and what the host does in between is nothing beside it. */
const MOST_QUEUED_MS = 500;

/** A call of the model that was asked for. */
interface Call {
  running: Promise<unknown>;
}

/** A promise whose failure somebody may hear of later, or nobody. */
function unheard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** How long calls of a layout took last. */
const tookMs = new WeakMap<GraphLayout, number>();

/** Takes the steps of a sampler that has {@link LinearSteps} on the device, where the latents stay from step to step. */
export class DeviceStepper implements Stepper {
  /** What a call reads, on its way to the device while the call before is made. */
  private staged: { call: number; done: Promise<void> } | undefined;
  /** The call that is queued behind the one under way. */
  private queued: Promise<Call> | undefined;
  /** Says whether what the last call left is finite. */
  private checked: Promise<unknown> = Promise.resolve();

  private constructor(private readonly input: DeviceStepperInput) {}

  /** Writes the first latents to the device. */
  static async start(input: DeviceStepperInput): Promise<DeviceStepper> {
    const { plan, sampler, linear, dims, latents, memory } = input;
    const stepper = new DeviceStepper(input);
    if (memory) {
      await stepper.restore(memory);
      return stepper;
    }
    // What the first call reads does not wait for the first latents, unless steps are measured one by one.
    if (input.callsFollow) stepper.prepare(0);
    try {
      await input.fill(latents, sampler.inputScale(0));
      if (linear.numHistory > 0) await plan.write("history", new Float32Array(linear.numHistory * countOf(dims)));
    } catch (error) {
      await stepper.settle();
      throw error;
    }
    return stepper;
  }

  async save(): Promise<StepperMemory> {
    return { tensors: await savedStates(this.input.states), values: null };
  }

  private async restore(memory: StepperMemory): Promise<void> {
    const { plan, states } = this.input;
    await restoreStates(states.layout, memory, (name, data) => plan.write(name, data));
  }

  async advance(call: number, step: number): Promise<void> {
    const { plan, states, sampler, callsFollow } = this.input;
    const startMs = performance.now();
    const { running } = await (this.queued ?? this.begin(call));
    this.queued = undefined;
    if (callsFollow && call + 1 < sampler.numModelCalls) {
      this.prepare(call + 1);
      const isShort = (tookMs.get(states.layout) ?? Number.POSITIVE_INFINITY) < MOST_QUEUED_MS;
      if (plan.queuesRuns && isShort) this.queued = unheard(this.begin(call + 1));
    }
    this.input.whileComputing?.();
    try {
      await running;
      tookMs.set(states.layout, performance.now() - startMs);
      await this.checked;
    } catch (error) {
      await this.settle();
      throw error;
    }
    // One frame is enough: a value that is not finite in one place makes all values so in the next call. Nobody waits for it but the next call.
    this.checked = unheard(plan.readChecked("firstFrame").then((frame) => finiteValues(frame, step)));
    if (!callsFollow) await this.checked;
  }

  /** Waits for calls that go on when one has failed: their memory is freed then. */
  private async settle(): Promise<void> {
    const queued = await Promise.resolve(this.queued).catch(() => undefined);
    await Promise.allSettled([queued?.running, this.staged?.done, this.checked]);
  }

  /** Begins a call once what it reads is on the device. */
  private async begin(call: number): Promise<Call> {
    const { plan, sampler, signal } = this.input;
    this.prepare(call);
    await this.staged!.done;
    if (drawsNoiseAt(sampler, call + 1)) this.input.drawNoiseAhead?.();
    return { running: unheard(plan.run({ signal })) };
  }

  /** Begins to bring what a call reads to the device. */
  private prepare(call: number): void {
    if (this.staged?.call === call) return;
    this.staged = { call, done: unheard(this.stage(call)) };
  }

  private async stage(call: number): Promise<void> {
    const { plan, sampler, linear } = this.input;
    // At once: each waits for the device and for a thread, and none for another.
    await Promise.all([
      plan.stage("inputScale", [this.inputScale(call + 1)]),
      plan.stage("timestep", [sampler.modelTimestep(call)]),
      plan.stage("coefficients", linear.tables[call]!),
      ...(sampler.noiseDrawsAt(call) ? [this.stageNoise()] : []),
    ]);
  }

  private async stageNoise(): Promise<void> {
    const { plan, noise, philox } = this.input;
    if (philox) await plan.stage("philox", philox());
    else await plan.stage("noise", await noise());
  }

  async denoised(): Promise<Float32Array> {
    return (await this.input.plan.readPlanes("denoised")).values;
  }

  async lastLatents(): Promise<Float32Array> {
    const { plan, sampler, latents } = this.input;
    const [read] = await Promise.all([plan.readPlanes("x", latents), this.checked]);
    return finiteValues(read, sampler.numSteps);
  }

  async latentsNow(): Promise<Float32Array> {
    return (await this.input.plan.readPlanes("x")).values;
  }

  replaceLatents(latents: Float32Array, nextCall: number): Promise<void> {
    return this.input.fill(latents, this.inputScale(nextCall));
  }

  /** The factor of a call's input; after the last call nobody reads the input. */
  private inputScale(call: number): number {
    const { sampler } = this.input;
    return call < sampler.numModelCalls ? sampler.inputScale(call) : 1;
  }
}
