import { VdError } from "@vd/kernels-native";
import type { Sampler, SamplerState } from "@vd/sampling";
import { observed, type Pausable, type Plan, type RunOptions, type WorkObserver } from "@vd/tensor";

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
  noise(): Promise<Float32Array>;
  onStep(step: DenoisedStep): Promise<void>;
  observer?: WorkObserver | undefined;
}

/** What computes the predictions: a loaded plan, or a denoiser that runs elsewhere. */
export interface DenoisingPlan {
  write(name: string, data: ArrayLike<number>): Promise<void>;
  run(options: RunOptions): Promise<unknown>;
  read(name: string): Promise<Float32Array>;
}

/** Writes what does not change. */
export async function sendConstants(plan: Plan, constants: DenoiseConstants): Promise<void> {
  const { image, cross, frames, timeIds, guidance } = constants;
  await plan.write("image", image);
  await plan.write("cross", cross);
  await plan.write("frames", frames);
  const rows = guidance ? 2 : 1;
  await plan.write(
    "addedTimeIds",
    Float32Array.from({ length: 3 * rows }, (_, i) => timeIds[i % 3]!),
  );
  if (guidance) await plan.write("guidance", guidance);
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

/** Values between two pauses of {@link checkFinitePausable}. */
const PIECE = 65_536;

/** {@link checkFinite}, pausing after some values. */
export function* checkFinitePausable(latents: Float32Array, step: number): Pausable<void> {
  for (let begin = 0; begin < latents.length; begin += PIECE) {
    checkFinite(latents.subarray(begin, begin + PIECE), step);
    yield;
  }
}

/** Runs the sampler over the denoiser from `latents`, [F,C,h,w] at the first noise level, to the clean latents; the
 *  sampler's own arithmetic runs on the host, for samplers that are not linear.
 *  Throws VdError `cancelled` within a step of the signal, `weights` for latents that are no longer finite. */
export async function denoise(
  plan: DenoisingPlan,
  sampler: Sampler,
  latents: Float32Array,
  options: DenoiseOptions,
): Promise<Float32Array> {
  let x = latents;
  let state: SamplerState | undefined;
  let stepStart = performance.now();
  const oneCall = async (call: number, step: number): Promise<void> => {
    await plan.write("latents", x);
    await plan.write("inputScale", [sampler.inputScale(call)]);
    await plan.write("timestep", [sampler.modelTimestep(call)]);
    await plan.run({ signal: options.signal });
    const noise = sampler.noiseDrawsAt(call) ? await options.noise() : undefined;
    const modelOutput = await plan.read("prediction");
    const result = observed(options.observer, "sampler", () => sampler.step(call, { x, modelOutput, noise, state }));
    x = result.x;
    state = result.state;
    checkFinite(x, step);
    if (call + 1 < sampler.numModelCalls && sampler.stepIndexOf(call + 1) + 1 === step) return;
    await options.onStep({
      step,
      stepUs: (performance.now() - stepStart) * 1000,
      denoised: async () => result.denoised,
    });
    stepStart = performance.now();
  };
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const step = sampler.stepIndexOf(call) + 1;
    await observed(options.observer, `step ${step}`, () => oneCall(call, step));
  }
  return x;
}
