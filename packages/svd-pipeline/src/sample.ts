import { countOf } from "@vd/kernels-native";
import { observed, type Plan } from "@vd/tensor";
import { checkFinite, type DenoiseOptions } from "./denoise";
import type { Sampler } from "./sampling/index";
import type { LinearSteps } from "./sampling/linear-steps";

/** [F,C,h,w] → [F,h,w,C]. dims: [F,C,h,w]. */
function channelsLast(planes: Float32Array, [frames, channels, height, width]: LatentDims): Float32Array {
  const area = height * width;
  const result = new Float32Array(planes.length);
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[at + i * channels] = planes[plane * area + i]!;
  }
  return result;
}

/** [F,h,w,C] → [F,C,h,w]. dims: [F,C,h,w]. */
function planesOf(pixels: Float32Array, [frames, channels, height, width]: LatentDims): Float32Array {
  const area = height * width;
  const result = new Float32Array(pixels.length);
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[plane * area + i] = pixels[at + i * channels]!;
  }
  return result;
}

/** Sizes of latents, [F,C,h,w]. */
export type LatentDims = readonly [frames: number, channels: number, height: number, width: number];

/** What a run of {@link sample} works with. */
export interface SampleInput {
  sampler: Sampler;
  steps: LinearSteps;
  dims: LatentDims;
  /** At the first noise level, [F,C,h,w]. */
  latents: Float32Array;
}

/** Runs a plan of `sampleStage` from noise to the clean latents, [F,C,h,w]: latents stay on the device from step to step.
 *  Throws VdError `cancelled` within a step of the signal, `weights` for latents that are no longer finite. */
export async function sample(plan: Plan, input: SampleInput, options: DenoiseOptions): Promise<Float32Array> {
  const { sampler, steps, dims, latents } = input;
  plan.write("x", channelsLast(latents, dims));
  if (steps.numHistory > 0) plan.write("history", new Float32Array(steps.numHistory * countOf(dims)));
  let stepStart = performance.now();
  const oneCall = async (call: number, step: number): Promise<void> => {
    plan.write("inputScale", [sampler.inputScale(call)]);
    plan.write("timestep", [sampler.modelTimestep(call)]);
    plan.write("coefficients", steps.tables[call]!);
    if (sampler.noiseDrawsAt(call)) plan.write("noise", channelsLast(await options.noise(), dims));
    await plan.run({ signal: options.signal });
    // What is no number in one place is so everywhere after the next call.
    checkFinite(await plan.fetch("firstFrame"), step);
    if (call + 1 < sampler.numModelCalls && sampler.stepIndexOf(call + 1) + 1 === step) return;
    const stepUs = (performance.now() - stepStart) * 1000;
    await options.onStep({ step, stepUs, denoised: async () => planesOf(await plan.fetch("denoised"), dims) });
    stepStart = performance.now();
  };
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const step = sampler.stepIndexOf(call) + 1;
    await observed(options.observer, `step ${step}`, () => oneCall(call, step));
  }
  const result = await plan.fetch("x");
  checkFinite(result, sampler.numSteps);
  return planesOf(result, dims);
}
