import { countOf } from "@vd/kernels-native";
import type { LinearSteps, Sampler } from "@vd/sampling";
import {
  observed,
  type Pausable,
  type Plan,
  type PlaneDims,
  pixelsToPlanes,
  planesToPixels,
  runInSlices,
} from "@vd/tensor";
import { checkFinite, checkFinitePausable, type DenoiseOptions } from "./denoise";
import type { Scratch } from "./scratch";

/** What a run of {@link sample} works with. */
export interface SampleInput {
  sampler: Sampler;
  steps: LinearSteps;
  dims: PlaneDims;
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
    inSlices(planesToPixels(planes, dims, scratch.floats("latents as pixels", planes.length)));
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
      inSlices(pixelsToPlanes(await plan.read("denoised"), dims, new Float32Array(latents.length)));
    await options.onStep({ step, stepUs, denoised });
    stepStart = performance.now();
  };
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const step = sampler.stepIndexOf(call) + 1;
    await observed(options.observer, `step ${step}`, () => oneCall(call, step));
  }
  const result = await plan.read("x");
  await inSlices(checkFinitePausable(result, sampler.numSteps));
  return inSlices(pixelsToPlanes(result, dims, latents));
}
