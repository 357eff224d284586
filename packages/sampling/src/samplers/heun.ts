import type { DataBounds } from "../arithmetic/limiter";
import { denoise } from "../arithmetic/preconditioning";
import { add, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { commonSchedules, kDiffusionBetas } from "../schedule/alphas";
import { perCall } from "../schedule/ranges";
import type { SigmaModel } from "../schedule/sigma-model";
import { type SpacedClass, spacedModel } from "../schedule/spaced-model";

const className = "HeunDiscreteScheduler";
const round = Math.fround;

const heunClass: SpacedClass = {
  className,
  betas: { ...kDiffusionBetas, schedules: [...commonSchedules, "exp"] },
  predictions: ["epsilon", "sample", "v_prediction"],
  takesTimesteps: true,
};

/** What the first half of a step leaves for the second; nothing between steps. */
interface HeunState {
  half?: { start: Values; slope: Values };
}

/**
 * Heun's method: a step is Euler's (even calls) and then the mean of both slopes (odd calls); the last step, to 0, is
 * Euler's alone. `bounds` limits the prediction. The sample keeps the latents' dtype. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_heun_discrete.py `step`.
 */
function heunSampler(model: SigmaModel, options: SamplerOptions, bounds?: DataBounds): Sampler {
  const sigmas = Float32Array.from(perCall(Array.from(model.sigmas), true));

  function update({ call, x, output, state, limit }: UpdateInput<HeunState>): UpdateResult<HeunState> {
    const sigma = sigmas[call]!;
    const denoised = limit(denoise(model.precondition(sigma), output, x));
    const slope = div(sub(x, denoised), sigma);
    if (state.half === undefined) {
      const next = add(x, mul(slope, round(sigmas[call + 1]! - sigma)));
      return { x: next, denoised, state: { half: { start: x, slope } } };
    }
    const mean = div(add(state.half.slope, slope), 2);
    return { x: add(state.half.start, mul(mean, round(sigma - sigmas[call - 1]!))), denoised, state: {} };
  }

  return makeSampler({
    ...{ className, sigmas, update },
    timesteps: perCall(model.timesteps, false),
    initNoiseSigma: model.initNoiseSigma,
    dtype: options.dtype ?? "float32",
    initialState: {},
    bounds,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    stepIndexOf: (call) => call >> 1,
  });
}

/** `heun`: HeunDiscreteScheduler; two model calls per step. */
export const heun: SamplerDefinition = {
  name: "heun",
  className,
  fromConfig(config, options) {
    const reader = new ConfigReader(config, className);
    const clips = reader.flag("clip_sample", false);
    return heunSampler(
      spacedModel(reader, options, heunClass),
      options,
      clips ? { kind: "clip", range: reader.number("clip_sample_range", 1) } : undefined,
    );
  },
  overModel: (model, options) => heunSampler(model, options),
};
