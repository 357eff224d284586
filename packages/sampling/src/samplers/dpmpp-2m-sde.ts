import { mul } from "../arithmetic/values";
import type { SamplerDefinition } from "../definition";
import { eulerModel } from "../schedule/euler-model";
import {
  type SdeHistory,
  type SdeRule,
  scaledSlope,
  sdeMultistepOverModel,
  sdeMultistepSampler,
} from "../solvers/sde-multistep";

const className = "sample_dpmpp_2m_sde";

/** The midpoint form: half of the slope over the step. */
function correction({ predictions: [newest, before], gains: [h, last], stretched }: SdeHistory) {
  return before && mul(-0.5 * Math.expm1(-stretched), scaledSlope(newest!, before, h!, last!));
}

const rule: SdeRule = { className, order: 2, correction };

/** `dpmpp_2m_sde`: k-diffusion's DPM-Solver++(2M) SDE in its midpoint form, over the noise levels of EulerDiscreteScheduler; every
 *  step but the last draws noise. */
export const dpmpp2mSde: SamplerDefinition = {
  name: "dpmpp_2m_sde",
  className,
  fromConfig: (config, options) => sdeMultistepSampler(eulerModel(config, options), options, rule),
  overModel: (model, options) => sdeMultistepOverModel(model, options, rule),
};
