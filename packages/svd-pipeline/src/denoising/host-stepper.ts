import { cast, type Sampler, type SamplerState } from "@vd/sampling";
import { observed, type WorkObserver } from "@vd/tensor";
import type { DenoisingPlan, Stepper } from "./denoise";
import type { Denoiser, DenoiserCall } from "./denoiser";
import { checkFinite } from "./finite";
import { packValues, type StepperMemory, unpackValues } from "./stepper-memory";

/** Computes one prediction, [F,C,h,w], from noisy latents of the same shape. */
export type Predict = (call: DenoiserCall) => Promise<Float32Array>;

/** Returns the predictions of a loaded plan of `denoiseStage`. */
export function predictByPlan(plan: DenoisingPlan): Predict {
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
  return async ({ latents, ...call }) =>
    Float32Array.from(await denoiser.predict({ ...call, latents: Float32Array.from(latents) }));
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
  signal?: AbortSignal | undefined;
  observer?: WorkObserver | undefined;
}

/** What a {@link HostStepper} remembers between two calls. */
interface HostMemory {
  x: Float32Array;
  state: SamplerState | undefined;
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
    const { x, state } = unpackValues(input.memory) as HostMemory;
    this.x = x;
    this.state = state;
  }

  async save(): Promise<StepperMemory> {
    const { x, state } = this;
    return packValues({ x, state } satisfies HostMemory);
  }

  async advance(call: number, step: number): Promise<void> {
    const { predict, sampler, signal, observer } = this.input;
    const { x, state } = this;
    const [inputScale, timestep] = [sampler.inputScale(call), sampler.modelTimestep(call)];
    const modelOutput = await predict({ latents: x, inputScale, timestep, signal });
    const noise = sampler.noiseDrawsAt(call) ? await this.input.noise() : undefined;
    const result = observed(observer, "sampler", () => sampler.step(call, { x, modelOutput, noise, state }));
    this.x = result.x;
    this.guess = result.denoised;
    this.state = result.state;
    checkFinite(this.x, step);
  }

  async denoised(): Promise<Float32Array> {
    return this.guess;
  }

  async latents(): Promise<Float32Array> {
    return this.x;
  }

  async latentsNow(): Promise<Float32Array> {
    return this.x.slice();
  }

  async replaceLatents(latents: Float32Array): Promise<void> {
    const { dtype } = this.input.sampler;
    this.x = cast({ data: latents.slice(), dtype: "float32" }, dtype).data;
  }
}
