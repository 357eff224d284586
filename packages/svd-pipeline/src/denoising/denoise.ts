import type { Sampler } from "@vd/sampling";
import { observed, type Plan, type RunOptions, type WorkObserver } from "@vd/tensor";
import type { StepperMemory } from "./stepper-memory";

/** A finished step. */
export interface DenoisedStep {
  /** From 1. */
  step: number;
  stepUs: number;
  /** What the model was told of the noise level at the step's last call. */
  timestep: number;
  /** Reads the sampler's guess of the clean latents, [F,C,h,w]. */
  denoised(): Promise<Float32Array>;
  /** Reads a copy of the latents, [F,C,h,w]. */
  latents(): Promise<Float32Array>;
  /** Puts others in their place, [F,C,h,w]. */
  replaceLatents(latents: Float32Array): Promise<void>;
  /** The model's call that comes next. */
  nextCall: number;
  /** Reads all that the next call goes on from. */
  save(): Promise<StepperMemory>;
}

/** How the loop reports, and where it begins. */
export interface DenoiseOptions {
  /** The model's first call; those before it were made earlier. Default 0. */
  firstCall?: number | undefined;
  onStep(step: DenoisedStep): Promise<void>;
  observer?: WorkObserver | undefined;
}

/** A loaded stage of denoising: a plan, or plans of several devices that act as one. */
export type DenoisingPlan = Pick<Plan, "write" | "stage" | "read" | "readChecked" | "readPlanes" | "queuesRuns"> & {
  run(options: RunOptions): Promise<unknown>;
};

/** What holds the latents of a generation and takes the sampler's steps, on the host or on a device. */
export interface Stepper {
  /**
   * Makes call `call` of the model, which belongs to step `step` (from 1), and updates the latents.
   *
   * @throws VdError `cancelled` once the signal has fired, `weights` for latents that are no longer finite
   */
  advance(call: number, step: number): Promise<void>;
  /** Reads the guess of the clean latents after the last call, [F,C,h,w]. */
  denoised(): Promise<Float32Array>;
  /** Reads the latents for the last time, [F,C,h,w]. */
  lastLatents(): Promise<Float32Array>;
  /** Reads a copy of the latents between calls, [F,C,h,w]. */
  latentsNow(): Promise<Float32Array>;
  /** Puts others in their place before call `nextCall`, [F,C,h,w]. */
  replaceLatents(latents: Float32Array, nextCall: number): Promise<void>;
  /** Reads all that the next call goes on from. */
  save(): Promise<StepperMemory>;
}

/** Whether a call's step adds noise; behind the last call there is none. */
export const drawsNoiseAt = (sampler: Sampler, call: number): boolean =>
  call < sampler.numModelCalls && sampler.noiseDrawsAt(call);

/**
 * Takes all steps of a sampler and resolves to the clean latents, [F,C,h,w]. A step that calls the model more than once is reported after its last
 * call.
 *
 * @throws VdError `cancelled` within a step of the signal, on a GPU within two where a step takes less than half a second; `weights` for latents
 *   that are no longer finite
 */
export async function denoise(stepper: Stepper, sampler: Sampler, options: DenoiseOptions): Promise<Float32Array> {
  let stepStart = performance.now();
  const oneCall = async (call: number, step: number): Promise<void> => {
    await stepper.advance(call, step);
    if (call + 1 < sampler.numModelCalls && sampler.stepIndexOf(call + 1) + 1 === step) return;
    const stepUs = (performance.now() - stepStart) * 1000;
    await options.onStep({
      ...{ step, stepUs, timestep: sampler.modelTimestep(call) },
      denoised: () => stepper.denoised(),
      latents: () => stepper.latentsNow(),
      replaceLatents: (latents) => stepper.replaceLatents(latents, call + 1),
      nextCall: call + 1,
      save: () => stepper.save(),
    });
    stepStart = performance.now();
  };
  for (let call = options.firstCall ?? 0; call < sampler.numModelCalls; call++) {
    const step = sampler.stepIndexOf(call) + 1;
    await observed(options.observer, `step ${step}`, () => oneCall(call, step));
  }
  return stepper.lastLatents();
}
