import type { DataBounds } from "../arithmetic/limiter";
import { denoise } from "../arithmetic/preconditioning";
import { add, mul } from "../arithmetic/values";
import { ConfigReader } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { quarterLogs } from "../schedule/euler-model";
import { type SigmaModel, withFinalSigma } from "../schedule/sigma-model";
import {
  stochasticIterativeClassName as className,
  DISTILLED_LEVELS,
  distilledSigmas,
  stochasticIterativeModel,
} from "../schedule/stochastic-iterative-model";

/**
 * Multistep consistency sampling over noise levels: predict the data, add fresh noise of the next level, again. Source:
 * https://arxiv.org/abs/2303.01469 algorithm 1; the published class of AnimateLCM-SVD `step`.
 */
function consistencySampler(
  model: SigmaModel,
  options: SamplerOptions,
  { noiseScale = 1, bounds }: { noiseScale?: number; bounds?: DataBounds | undefined } = {},
): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;

  function update({ call, x, output, noise, limit }: UpdateInput<null>): UpdateResult<null> {
    const denoised = limit(denoise(model.precondition(sigmas[call]!), output, x));
    const next = sigmas[call + 1]!;
    const result = next === 0 ? denoised : add(denoised, mul(mul(noise, noiseScale), next));
    return { x: result, denoised, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update, bounds },
    dtype: options.dtype ?? "float32",
    initialState: null,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    // The class draws once more at the end, multiplies by 0 and throws it away.
    noiseAt: (call) => sigmas[call + 1]! > 0,
  });
}

/** Another model's noise levels, but the ones that a distilled model of as many steps visits; levels that the caller gave stay. */
function respaced(model: SigmaModel, options: SamplerOptions): SigmaModel {
  if (options.sigmas !== undefined) return model;
  const steps = model.sigmas.length - 1;
  const range = { min: model.sigmas[steps - 1]!, max: model.sigmas[0]! };
  const levels = distilledSigmas(range, steps, Math.max(steps, DISTILLED_LEVELS));
  const sigmas = withFinalSigma(levels, 0);
  return { ...model, sigmas, timesteps: quarterLogs(sigmas) };
}

/**
 * `animatelcm`: the scheduler of AnimateLCM-SVD's checkpoints. Its levels are every ⌊40 / steps⌋th of the 40 of the
 * distillation, so that the last step starts where there is noise left to remove.
 */
export const animatelcm: SamplerDefinition = {
  name: "animatelcm",
  className,
  fromConfig(config, options) {
    const reader = new ConfigReader(config, className);
    return consistencySampler(stochasticIterativeModel(config, options), options, {
      noiseScale: reader.number("s_noise", 1),
      bounds: reader.flag("clip_denoised", true) ? { kind: "clip", range: 1 } : undefined,
    });
  },
  overModel: (model, options) => consistencySampler(respaced(model, options), options),
  continuousModel: stochasticIterativeModel,
};
