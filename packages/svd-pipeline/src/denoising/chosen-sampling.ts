import { createSampler, type LinearSteps, linearSteps, type Sampler } from "@vd/sampling";
import { ownTurn } from "@vd/tensor";
import type { ModelComponents } from "../opening/components";
import type { CheckedOptions } from "../options/check-generate";
import type { StepNoise } from "../options/choices";
import type { StageShape, StepNeeds } from "../stages/definitions";
import type { Precision } from "../types";

/** A generation's sampler, and its steps as matrices where it has them: then they run on the device. */
export interface Sampling {
  sampler: Sampler;
  linear: LinearSteps | undefined;
  /** Which of torch's generators gives the noise of the steps; that of a GPU is drawn on the device. */
  stepNoise: StepNoise;
}

/**
 * The sampling that checked options mean for a model. Latents between steps on a device are float32 at any
 * precision, those on the host have the precision, as the reference's. The event loop turns meanwhile.
 *
 * @throws VdError `attr`
 */
export async function samplingFor(
  components: ModelComponents,
  checked: CheckedOptions,
  precision: Precision,
): Promise<Sampling> {
  const exact = samplerFor(components, checked, "float32");
  await ownTurn();
  const linear = linearSteps(exact);
  await ownTurn();
  const { stepNoise } = checked;
  const sampler = linear ? exact : samplerFor(components, checked, precision);
  return { sampler, linear, stepNoise };
}

/** What the sampling needs of the denoising stage. */
export function stepNeeds({ sampler, linear, stepNoise }: Sampling): StepNeeds | undefined {
  if (!linear) return undefined;
  const calls = Array.from({ length: sampler.numModelCalls }, (_, call) => call);
  const drawsNoise = calls.some((call) => sampler.noiseDrawsAt(call));
  return { numHistory: linear.numHistory, drawsNoise, drawsOnDevice: stepNoise === "cuda", bounds: linear.bounds };
}

/** What the sampling needs of the denoising stage; undefined also for a video of several clips, whose steps are taken on the host. */
export const stepsOnDevice = ({ sampling, shape }: { sampling: Sampling; shape: StageShape }): StepNeeds | undefined =>
  shape.clipFrames === undefined ? stepNeeds(sampling) : undefined;

/** The sampler that checked options mean for a model. */
function samplerFor(
  components: ModelComponents,
  { sampler, steps, sigmas }: CheckedOptions,
  precision: Precision,
): Sampler {
  return createSampler(components.scheduler, {
    dtype: precision,
    ...(sampler === undefined ? {} : { name: sampler }),
    ...(steps === undefined ? {} : { steps }),
    ...(sigmas === undefined ? {} : { sigmas }),
  });
}
