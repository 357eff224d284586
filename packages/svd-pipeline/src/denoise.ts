import { VdError } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import type { Sampler, SamplerState } from "./sampling/index";

/** Operands that stay the same over all steps. */
export interface DenoiseConstants {
  /** Latents of the picture, [h,w,C]. */
  image: Float32Array;
  cross: Float32Array;
  frames: Float32Array;
  /** fps − 1, motion bucket, noise augmentation. */
  timeIds: readonly [number, number, number];
  /** Guidance per frame, or undefined without guidance. */
  guidance: Float32Array | undefined;
}

/** A finished step. */
export interface DenoisedStep {
  /** From 1. */
  step: number;
  stepUs: number;
  /** Reads the sampler's guess of the clean latents, [F,C,h,w]. */
  denoised(): Promise<Float32Array>;
}

/** How the loop reports and stops. */
export interface DenoiseOptions {
  signal?: AbortSignal | undefined;
  /** Unit noise for samplers that draw some, as many numbers as the latents have. */
  noise(): Float32Array;
  onStep(step: DenoisedStep): Promise<void>;
}

/** Writes what does not change. */
export function writeConstants(plan: Plan, constants: DenoiseConstants): void {
  const { image, cross, frames, timeIds, guidance } = constants;
  plan.write("image", image);
  plan.write("cross", cross);
  plan.write("frames", frames);
  const rows = guidance ? 2 : 1;
  plan.write(
    "addedTimeIds",
    Float32Array.from({ length: 3 * rows }, (_, i) => timeIds[i % 3]!),
  );
  if (guidance) plan.write("guidance", guidance);
}

/** Latents that are no numbers would only give a black video. */
export function checkFinite(latents: Float32Array, step: number): void {
  let zero = 0;
  for (let i = 0; i < latents.length; i++) zero += latents[i]! * 0; // NaN as soon as one is not finite.
  if (zero === 0) return;
  throw new VdError({
    code: "weights",
    where: `denoise step ${step}`,
    expected: "finite latents",
    got: "infinite ones or NaN",
    hint: "Either the sigmas or the guidance are far out of range, or the weights are damaged, or float16 has overflowed.",
  });
}

/** Runs the sampler over the denoiser from `latents`, [F,C,h,w] at the first noise level, to the clean latents; the
 *  sampler's own arithmetic runs on the host, for samplers that are not linear.
 *  Throws VdError `cancelled` within a step of the signal, `weights` for latents that are no longer finite. */
export async function denoise(
  plan: Plan,
  sampler: Sampler,
  latents: Float32Array,
  options: DenoiseOptions,
): Promise<Float32Array> {
  let x = latents;
  let state: SamplerState | undefined;
  let stepStart = performance.now();
  for (let call = 0; call < sampler.numModelCalls; call++) {
    plan.write("latents", x);
    plan.write("inputScale", [sampler.inputScale(call)]);
    plan.write("timestep", [sampler.modelTimestep(call)]);
    await plan.run({ signal: options.signal });
    const noise = sampler.noiseDrawsAt(call) ? options.noise() : undefined;
    const result = sampler.step(call, { x, modelOutput: plan.read("prediction"), noise, state });
    x = result.x;
    state = result.state;
    const step = sampler.stepIndexOf(call) + 1;
    checkFinite(x, step);
    if (call + 1 < sampler.numModelCalls && sampler.stepIndexOf(call + 1) + 1 === step) continue;
    await options.onStep({ step, stepUs: (performance.now() - stepStart) * 1000, denoised: async () => result.denoised });
    stepStart = performance.now();
  }
  return x;
}
