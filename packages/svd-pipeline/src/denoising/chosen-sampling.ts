import { createSampler, type LinearSteps, linearSteps, type Sampler } from "@vd/sampling";
import { ownTurn } from "@vd/tensor";
import type { ModelComponents } from "../opening/components";
import type { CheckedOptions } from "../options/check-generate";
import type { StepNeeds } from "../stages/definitions";
import type { Precision } from "../types";

/** A generation's sampler, and its steps as matrices where it has them: then they run on the device. */
export interface Sampling {
  sampler: Sampler;
  linear: LinearSteps | undefined;
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
  return linear ? { sampler: exact, linear } : { sampler: samplerFor(components, checked, precision), linear };
}

/** What the sampling needs of the denoising stage. */
export function stepNeeds({ sampler, linear }: Sampling): StepNeeds | undefined {
  if (!linear) return undefined;
  const calls = Array.from({ length: sampler.numModelCalls }, (_, call) => call);
  const drawsNoise = calls.some((call) => sampler.noiseDrawsAt(call));
  return { numHistory: linear.numHistory, drawsNoise, bounds: linear.bounds };
}

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
