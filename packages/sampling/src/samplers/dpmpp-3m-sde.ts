import { add, mul, sub, type Values } from "../arithmetic/values";
import type { SamplerDefinition } from "../definition";
import { eulerModel } from "../schedule/euler-model";
import {
  type SdeHistory,
  type SdeRule,
  scaledSlope,
  sdeMultistepOverModel,
  sdeMultistepSampler,
} from "../solvers/sde-multistep";

const className = "sample_dpmpp_3m_sde";

/** Slope, and curvature where there are three predictions, each with its exponential integral φ. */
function correction({ predictions, gains: [h, last, earlier], stretched }: SdeHistory): Values | undefined {
  const [newest, before, oldest] = predictions;
  if (before === undefined) return undefined;
  const slopeWeight = Math.expm1(-stretched) / stretched + 1;
  const near = scaledSlope(newest!, before, h!, last!);
  if (oldest === undefined) return mul(slopeWeight, near);
  const far = scaledSlope(before, oldest, h!, earlier!);
  const both = (last! + earlier!) / h!;
  const change = sub(near, far);
  const slope = add(near, mul(last! / h! / both, change));
  const curvatureWeight = slopeWeight / stretched - 0.5;
  return sub(mul(slopeWeight, slope), mul(curvatureWeight / both, change));
}

const rule: SdeRule = { className, order: 3, correction };

/** `dpmpp_3m_sde`: k-diffusion's DPM-Solver++(3M) SDE, over the noise levels of EulerDiscreteScheduler; every step but the last
 *  draws noise. */
export const dpmpp3mSde: SamplerDefinition = {
  name: "dpmpp_3m_sde",
  className,
  fromConfig: (config, options) => sdeMultistepSampler(eulerModel(config, options), options, rule),
  overModel: (model, options) => sdeMultistepOverModel(model, options, rule),
};
