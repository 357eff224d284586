import { createSampler, type LinearSteps, linearSteps, type Sampler } from "@vd/sampling";
import { ownTurn } from "@vd/tensor";
import type { ModelComponents } from "./model/components";
import type { CheckedOptions } from "./options";
import type { StepNeeds } from "./stages/definitions";
import type { Precision } from "./types";

/** A generation's sampler, and its steps as matrices where it has them: then they run on the device. */
export interface Sampling {
  sampler: Sampler;
  steps: LinearSteps | undefined;
}

/** The sampling that checked options mean for a model. Latents between steps on a device are float32 whatever the
 *  precision, those on the host have the precision, as the reference's. The event loop turns meanwhile. Throws VdError `attr`. */
export async function samplingFor(
  components: ModelComponents,
  checked: CheckedOptions,
  precision: Precision,
): Promise<Sampling> {
  const exact = samplerFor(components, checked, "float32");
  await ownTurn();
  const steps = linearSteps(exact);
  await ownTurn();
  return steps ? { sampler: exact, steps } : { sampler: samplerFor(components, checked, precision), steps };
}

/** What the sampling needs of the denoising stage. */
export function stepNeeds({ sampler, steps }: Sampling): StepNeeds | undefined {
  if (!steps) return undefined;
  const calls = Array.from({ length: sampler.numModelCalls }, (_, call) => call);
  return { numHistory: steps.numHistory, drawsNoise: calls.some((call) => sampler.noiseDrawsAt(call)) };
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
