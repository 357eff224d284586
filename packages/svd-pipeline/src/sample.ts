import { countOf } from "@vd/kernels-native";
import { observed, type Pausable, type Plan, runInSlices } from "@vd/tensor";
import { checkFinite, checkFinitePausable, type DenoiseOptions } from "./denoise";
import type { Sampler } from "./sampling/index";
import type { LinearSteps } from "./sampling/linear-steps";
import type { Scratch } from "./scratch";

/** [F,C,h,w] → [F,h,w,C] in `result`, pausing after each plane. dims: [F,C,h,w]. */
function* channelsLast(planes: Float32Array, dims: LatentDims, result: Float32Array): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[at + i * channels] = planes[plane * area + i]!;
    yield;
  }
  return result;
}

/** [F,h,w,C] → [F,C,h,w] in `result`, pausing after each plane. dims: [F,C,h,w]. */
function* planesOf(pixels: Float32Array, dims: LatentDims, result: Float32Array): Pausable<Float32Array> {
  const [frames, channels, height, width] = dims;
  const area = height * width;
  for (let plane = 0; plane < frames * channels; plane++) {
    const at = Math.floor(plane / channels) * area * channels + (plane % channels);
    for (let i = 0; i < area; i++) result[plane * area + i] = pixels[at + i * channels]!;
    yield;
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
  /** At the first noise level, [F,C,h,w]; the result takes their place. */
  latents: Float32Array;
  scratch: Scratch;
}

/** Runs a plan of `sampleStage` from noise to the clean latents, [F,C,h,w]: latents stay on the device from step to step.
 *  Throws VdError `cancelled` within a step of the signal, `weights` for latents that are no longer finite. */
export async function sample(plan: Plan, input: SampleInput, options: DenoiseOptions): Promise<Float32Array> {
  const { sampler, steps, dims, latents, scratch } = input;
  const inSlices = <T>(work: Pausable<T>) => runInSlices(work, { signal: options.signal });
  const pixelsOf = (planes: Float32Array) =>
    inSlices(channelsLast(planes, dims, scratch.floats("latents as pixels", planes.length)));
  await plan.write("x", await pixelsOf(latents));
  if (steps.numHistory > 0) await plan.write("history", new Float32Array(steps.numHistory * countOf(dims)));
  let stepStart = performance.now();
  const oneCall = async (call: number, step: number): Promise<void> => {
    await plan.write("inputScale", [sampler.inputScale(call)]);
    await plan.write("timestep", [sampler.modelTimestep(call)]);
    await plan.write("coefficients", steps.tables[call]!);
    if (sampler.noiseDrawsAt(call)) await plan.write("noise", await pixelsOf(await options.noise()));
    await plan.run({ signal: options.signal });
    // What is no number in one place is so everywhere after the next call.
    checkFinite(await plan.read("firstFrame"), step);
    if (call + 1 < sampler.numModelCalls && sampler.stepIndexOf(call + 1) + 1 === step) return;
    const stepUs = (performance.now() - stepStart) * 1000;
    const denoised = async () =>
      inSlices(planesOf(await plan.read("denoised"), dims, new Float32Array(latents.length)));
    await options.onStep({ step, stepUs, denoised });
    stepStart = performance.now();
  };
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const step = sampler.stepIndexOf(call) + 1;
    await observed(options.observer, `step ${step}`, () => oneCall(call, step));
  }
  const result = await plan.read("x");
  await inSlices(checkFinitePausable(result, sampler.numSteps));
  return inSlices(planesOf(result, dims, latents));
}
