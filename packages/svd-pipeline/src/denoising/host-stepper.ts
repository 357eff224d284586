import { cast, type Sampler, type SamplerState } from "@vd/sampling";
import { observed, type WorkObserver } from "@vd/tensor";
import type { CallKind, CallPlanner, SavedPlanner } from "./call-planner";
import type { DenoisingPlan, Stepper } from "./denoise";
import type { Denoiser, DenoiserCall } from "./denoiser";
import { checkFinite } from "./finite";
import { packValues, type StepperMemory, unpackValues } from "./stepper-memory";

/** A call among those of a clip. */
export interface PredictCall extends DenoiserCall {
  /** Which of the sampler's calls, from 0. They come in order. */
  index: number;
  /** How it is made. */
  kind: CallKind;
  /** The last data prediction, [F,C,h,w], with which a step goes on whose call is skipped; empty before the first. */
  denoised: Float32Array;
}

/** Computes one prediction, [F,C,h,w], from noisy latents of the same shape. */
export type Predict = (call: PredictCall) => Promise<Float32Array>;

/** Returns the predictions of a loaded plan of `denoiseStage`. */
export function predictByPlan(plan: DenoisingPlan): (call: DenoiserCall) => Promise<Float32Array> {
  return async ({ latents, inputScale, timestep, signal }) => {
    await plan.write("latents", latents);
    await plan.write("inputScale", [inputScale]);
    await plan.write("timestep", [timestep]);
    await plan.run({ signal });
    return plan.read("prediction");
  };
}

/** Returns the predictions of a denoiser that runs elsewhere: it gets copies, and so does the sampler. */
export function predictByDenoiser(denoiser: Denoiser): Predict {
  return async ({ latents, inputScale, timestep, signal }) =>
    Float32Array.from(await denoiser.predict({ inputScale, timestep, signal, latents: Float32Array.from(latents) }));
}

/** What a {@link HostStepper} saves calls by. */
export interface HostSavings {
  planner: CallPlanner;
  /** Whether the planner wants to know by how much the denoiser's input changes. */
  measures: boolean;
  /** What the denoiser keeps of earlier calls. */
  features?: KeptFeatures | undefined;
}

/** What the denoiser keeps of earlier calls for later ones, to be saved and restored with a stepper. */
export interface KeptFeatures {
  /** Begins a clip, which takes nothing from the one before. kept: what {@link save} gave of the clip, where it is gone on with. */
  begin(kept: StepperMemory["tensors"] | undefined): void;
  save(): Promise<StepperMemory["tensors"]>;
}

/** What a {@link HostStepper} works with. */
export interface HostStepperInput {
  predict: Predict;
  sampler: Sampler;
  /** At the first noise level, [F,C,h,w]. */
  latents: Float32Array;
  /** Draws unit noise for samplers that add some, as many numbers as the latents have. */
  noise(): Promise<Float32Array>;
  /** Of an earlier stepper that this one goes on from, instead of the latents. */
  memory?: StepperMemory | undefined;
  /** Where not every call is made in full. */
  savings?: HostSavings | undefined;
  signal?: AbortSignal | undefined;
  observer?: WorkObserver | undefined;
}

/** What a {@link HostStepper} remembers between two calls. */
interface HostMemory {
  x: Float32Array;
  state: SamplerState | undefined;
  /** Where calls are saved. */
  guess?: Float32Array;
  planner?: SavedPlanner;
}

/** The mean magnitude of the change from one input of the denoiser to the next, as a part of the first one's. */
function relativeChange(before: Float32Array, scale: number, after: Float32Array, nextScale: number): number {
  let [change, size] = [0, 0];
  for (let i = 0; i < before.length; i++) {
    const input = scale * before[i]!;
    change += Math.abs(nextScale * after[i]! - input);
    size += Math.abs(input);
  }
  return change / size;
}

/** Takes a sampler's steps by its own arithmetic on the host: for samplers that are not linear, and for denoisers that
 *  run elsewhere. */
export class HostStepper implements Stepper {
  private x: Float32Array;
  private guess: Float32Array = new Float32Array();
  private state: SamplerState | undefined;

  constructor(private readonly input: HostStepperInput) {
    this.x = input.latents;
    if (!input.memory) return;
    const { x, state, guess, planner } = unpackValues(input.memory) as HostMemory;
    this.x = x;
    this.state = state;
    if (guess) this.guess = guess;
    if (planner) input.savings?.planner.goOnFrom(planner);
  }

  async save(): Promise<StepperMemory> {
    const { x, state, guess } = this;
    const { savings } = this.input;
    if (!savings) return packValues({ x, state } satisfies HostMemory);
    const { planner, features } = savings;
    const packed = packValues({ x, state, guess, planner: planner.save() } satisfies HostMemory);
    const kept = planner.needsFeatures ? await features?.save() : undefined;
    return { ...packed, tensors: { ...packed.tensors, ...kept } };
  }

  async advance(call: number, step: number): Promise<void> {
    const { predict, sampler, signal, observer, savings } = this.input;
    const { x, state, guess: denoised } = this;
    const [inputScale, timestep] = [sampler.inputScale(call), sampler.modelTimestep(call)];
    const kind = savings?.planner.next(call) ?? "full";
    const modelOutput = await predict({ latents: x, inputScale, timestep, signal, index: call, kind, denoised });
    const noise = sampler.noiseDrawsAt(call) ? await this.input.noise() : undefined;
    const result = observed(observer, "sampler", () => sampler.step(call, { x, modelOutput, noise, state }));
    this.x = result.x;
    this.guess = result.denoised;
    this.state = result.state;
    checkFinite(this.x, step);
    // After the last call nobody reads the input.
    const nextScale = call + 1 < sampler.numModelCalls ? sampler.inputScale(call + 1) : 1;
    if (savings?.measures) savings.planner.observe(relativeChange(x, inputScale, this.x, nextScale));
  }

  async denoised(): Promise<Float32Array> {
    return this.guess;
  }

  async lastLatents(): Promise<Float32Array> {
    return this.x;
  }

  async latentsNow(): Promise<Float32Array> {
    return this.x.slice();
  }

  async replaceLatents(latents: Float32Array): Promise<void> {
    const { sampler, savings } = this.input;
    const { dtype } = sampler;
    savings?.planner.forget();
    this.x = cast({ data: latents.slice(), dtype: "float32" }, dtype).data;
  }
}
