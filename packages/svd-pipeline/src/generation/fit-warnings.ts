import type { Sampler } from "@vd/sampling";
import type { ModelComponents } from "../opening/components";
import { CONSISTENCY_CLASSES } from "../opening/distilled";
import type { CheckedOptions } from "../options/check-generate";

/** Steps from which on a distilled model only draws noise anew. AnimateLCM-SVD's card names 2 to 8. */
const MOST_DISTILLED_STEPS = 16;
/** Guidance that a distilled model bears; AnimateLCM-SVD's demonstration uses 1 to 1.2. */
const MOST_DISTILLED_GUIDANCE = 1.5;
/** The part of a model's usual steps with which its videos still hold together. */
const LEAST_PART = 0.25;

/** What a generation's checkpoint, sampler and steps are. */
export interface FitFacts {
  components: Pick<ModelComponents, "distilled">;
  sampler: Pick<Sampler, "className" | "numSteps">;
  checked: Pick<CheckedOptions, "minGuidance" | "maxGuidance">;
  /** Steps that the model takes when nothing is said. */
  usualSteps: number;
}

function distilledWarnings({ sampler, checked }: FitFacts): string[] {
  const { className, numSteps } = sampler;
  const guidance = Math.max(checked.minGuidance, checked.maxGuidance);
  return [
    ...(CONSISTENCY_CLASSES.includes(className)
      ? []
      : [
          `The model is distilled for few steps, and ${className} is not made for such: leave out sampler, or take animatelcm, lcm or tcd.`,
        ]),
    ...(numSteps > MOST_DISTILLED_STEPS
      ? [`The model is distilled for few steps: ${numSteps} make its videos slower, not better. 4 to 8 are usual.`]
      : []),
    ...(guidance > MOST_DISTILLED_GUIDANCE
      ? [
          `The model is distilled, with guidance in its weights: guidance of ${guidance} doubles the work of a step and overshoots. Use 1.`,
        ]
      : []),
  ];
}

/** Returns what does not go together of checkpoint, sampler, steps and guidance, as sentences. */
export function fitWarnings(facts: FitFacts): string[] {
  const { components, sampler, usualSteps } = facts;
  if (components.distilled) return distilledWarnings(facts);
  const { className, numSteps } = sampler;
  if (CONSISTENCY_CLASSES.includes(className))
    return [
      `${className} is made for models that are distilled for few steps, and this one is not said to be: its videos will be blurred. Take another sampler, or pass such a model (options unet, distilled).`,
    ];
  return numSteps < Math.floor(usualSteps * LEAST_PART)
    ? [
        `${numSteps} ${numSteps === 1 ? "step is" : "steps are"} too few for a model that is not distilled for few: about ${usualSteps} are usual.`,
      ]
    : [];
}
