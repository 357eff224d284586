import { countOf } from "@vd/kernels-native";
import { type LinearSteps, type Sampler, stepsFromDenoised } from "@vd/sampling";
import { type Pausable, type Plan, type PlaneDims, planesToPixels, runInSlices } from "@vd/tensor";
import type { Scratch } from "../generation/scratch";
import { FEATURES } from "../stages/call-stages";
import type { CallKind, CallPlanner, SavedPlanner } from "./call-planner";
import { drawsNoiseAt, type Stepper } from "./denoise";
import { finiteValues } from "./finite";
import { packValues, type StepperMemory, unpackValues } from "./stepper-memory";
import { restoreStates, type StoredStates, savedStates } from "./stored-states";

/** What a {@link CallStepper} works with. */
export interface CallStepperInput {
  /** Loaded plans of `callStage`, which share their states. */
  plans: ReadonlyMap<CallKind, Plan>;
  planner: CallPlanner;
  /** Whether the plans measure by how much the denoiser's input changes. */
  measures: boolean;
  sampler: Sampler;
  /** The sampler's steps as matrices. */
  linear: LinearSteps;
  dims: PlaneDims;
  /** At the first noise level, [F,C,h,w]; the result takes their place. */
  latents: Float32Array;
  scratch: Scratch;
  /** Draws unit noise for samplers that add some, [F,h,w,C]. */
  noise(): Promise<Float32Array>;
  /** Begins to draw what {@link noise} gives next, while the device computes. */
  drawNoiseAhead?: (() => void) | undefined;
  /** Begins what the host can do while the device makes a call. */
  whileComputing?: (() => void) | undefined;
  /** Says where the step on the device draws it instead; undefined where it is given. */
  philox?: (() => Int32Array) | undefined;
  /** Of an earlier stepper that this one goes on from, instead of the latents. */
  memory?: StepperMemory | undefined;
  signal?: AbortSignal | undefined;
  /** Hears how each call was made. */
  onCall(kind: CallKind): void;
}

/** The inner blocks' features: as large as a map of the denoiser, and needed only until a call makes them anew. */
const isFeatures = (name: string): boolean => name === FEATURES;

/** Takes a sampler's steps on the device with calls of several kinds: all of the denoiser, parts of it, or none. */
export class CallStepper implements Stepper {
  /** The steps of skipped calls. */
  private readonly fromDenoised: LinearSteps | undefined;
  /** Of the first noise level, before there is a data prediction. */
  private readonly plan: Plan;

  private constructor(private readonly input: CallStepperInput) {
    this.plan = input.plans.values().next().value!;
    this.fromDenoised = input.plans.has("skipped") ? stepsFromDenoised(input.linear) : undefined;
  }

  /** Writes the first latents to the device, or what another stepper has saved. */
  static async start(input: CallStepperInput): Promise<CallStepper> {
    const stepper = new CallStepper(input);
    const { linear, dims, latents, memory } = input;
    if (memory) {
      await stepper.restore(memory);
      return stepper;
    }
    await stepper.fill(latents);
    if (linear.numHistory > 0) await stepper.plan.write("history", new Float32Array(linear.numHistory * countOf(dims)));
    return stepper;
  }

  async save(): Promise<StepperMemory> {
    const { planner } = this.input;
    const leaves = planner.needsFeatures ? undefined : isFeatures;
    return { tensors: await savedStates(this.states, leaves), values: packValues(planner.save()).values };
  }

  private async restore(memory: StepperMemory): Promise<void> {
    await restoreStates(this.states.layout, memory, (name, data) => this.plan.write(name, data), isFeatures);
    this.input.planner.goOnFrom(unpackValues({ values: memory.values, tensors: {} }) as SavedPlanner);
  }

  /** All that the plans share: the first of them makes whole calls. */
  private get states(): StoredStates {
    const { plan } = this;
    return { layout: plan.layout, readBytes: (name) => plan.readBytes(name) };
  }

  async advance(call: number, step: number): Promise<void> {
    const { plans, planner, sampler, linear, signal, measures } = this.input;
    const kind = planner.next(call);
    const plan = plans.get(kind)!;
    const { tables } = kind === "skipped" ? this.fromDenoised! : linear;
    await plan.write("coefficients", tables[call]!);
    if (measures || kind !== "skipped") await plan.write("inputScale", [sampler.inputScale(call)]);
    if (measures) await plan.write("nextInputScale", [this.inputScale(call + 1)]);
    if (kind !== "skipped") await plan.write("timestep", [sampler.modelTimestep(call)]);
    if (sampler.noiseDrawsAt(call)) await this.writeNoise(plan);
    if (drawsNoiseAt(sampler, call + 1)) this.input.drawNoiseAhead?.();
    const running = plan.run({ signal });
    this.input.whileComputing?.();
    await running;
    this.input.onCall(kind);
    finiteValues(await plan.readChecked("firstFrame"), step);
    if (measures) planner.observe((await plan.read("change"))[0]! / (await plan.read("size"))[0]!);
  }

  async denoised(): Promise<Float32Array> {
    return (await this.plan.readPlanes("denoised")).values;
  }

  async lastLatents(): Promise<Float32Array> {
    return finiteValues(await this.plan.readPlanes("x", this.input.latents), this.input.sampler.numSteps);
  }

  async latentsNow(): Promise<Float32Array> {
    return (await this.plan.readPlanes("x")).values;
  }

  async replaceLatents(latents: Float32Array): Promise<void> {
    this.input.planner.forget();
    await this.fill(latents);
  }

  private async fill(latents: Float32Array): Promise<void> {
    await this.plan.write("x", await this.toPixels(latents));
  }

  private async writeNoise(plan: Plan): Promise<void> {
    const { noise, philox } = this.input;
    if (philox) await plan.write("philox", philox());
    else await plan.write("noise", await noise());
  }

  /** The factor of a call's input; after the last call nobody reads the input. */
  private inputScale(call: number): number {
    const { sampler } = this.input;
    return call < sampler.numModelCalls ? sampler.inputScale(call) : 1;
  }

  private toPixels(planes: Float32Array): Promise<Float32Array> {
    const { dims, scratch } = this.input;
    return this.inSlices(planesToPixels.inPieces(planes, dims, scratch.floats("latents as pixels", planes.length)));
  }

  private inSlices<T>(work: Pausable<T>): Promise<T> {
    return runInSlices(work, { signal: this.input.signal, where: "generation" });
  }
}
