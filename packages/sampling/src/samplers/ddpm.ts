import { VdError } from "@vd/kernels-native";
import { readBounds } from "../arithmetic/limiter";
import { denoise } from "../arithmetic/preconditioning";
import { type Mixture, predictData } from "../arithmetic/prediction";
import { add, mul } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { commonSchedules, ddpmBetas, readAlphas } from "../schedule/alphas";
import type { SigmaModel } from "../schedule/sigma-model";
import { checkedTimesteps, fallingTimesteps, integerTimesteps, readTimestepSpacing } from "../schedule/timesteps";
import { ancestralSplit } from "../solvers/ancestral-split";
import { shrinkTowards } from "../solvers/two-stage";
import { mixtureOf, sigmasOf } from "./lcm";

const className = "DDPMScheduler";
const round = Math.fround;
const root = (value: number) => round(Math.sqrt(value));

/** One step as data: the posterior's mean as factors of prediction and sample, and its deviation. */
interface DdpmStep {
  from: Mixture;
  data: number;
  sample: number;
  deviation: number;
}

const varianceTypes = ["fixed_small", "fixed_small_log", "fixed_large"] as const;

/** How the posterior's variance is chosen; the reference takes the root of a negative number for `fixed_large_log`, and the
 *  learned ones need networks that also predict the variance. */
function readVarianceType(reader: ConfigReader): (typeof varianceTypes)[number] {
  const others = ["fixed_large_log", "learned", "learned_range"] as const;
  const type = reader.choice("variance_type", [...varianceTypes, ...others], "fixed_small");
  const known = varianceTypes.find((each) => each === type);
  if (known !== undefined) return known;
  const where = `${className}.variance_type`;
  throw new VdError({ code: "unsupported", where, expected: `one of ${varianceTypes.join(", ")}`, got: type });
}

/** Source: https://arxiv.org/abs/2006.11239, equation 7. */
function ddpmStep(alpha: number, previous: number, type: (typeof varianceTypes)[number]): DdpmStep {
  const [beta, betaPrevious] = [round(1 - alpha), round(1 - previous)];
  const kept = round(alpha / previous);
  const added = round(1 - kept);
  const small = Math.max(round(round(betaPrevious / beta) * added), 1e-20);
  return {
    from: mixtureOf(alpha),
    data: round(round(root(previous) * added) / beta),
    sample: round(round(root(kept) * betaPrevious) / beta),
    deviation: root(type === "fixed_large" ? added : small),
  };
}

function timestepsOf(reader: ConfigReader, options: SamplerOptions, trained: number): readonly number[] {
  const steps = stepCount(options, (count) => count);
  if (options.timesteps !== undefined) return fallingTimesteps(options.timesteps, trained);
  if (steps > trained)
    throw new VdError({ code: "attr", where: "steps", expected: `at most ${trained} steps`, got: String(steps) });
  const offset = reader.integer("steps_offset", 0, 0);
  return integerTimesteps({ spacing: readTimestepSpacing(reader, "leading"), steps, trained, offset });
}

/**
 * Ancestral sampling of the discrete chain, from each visited timestep to the next one. Source: https://arxiv.org/abs/2006.11239;
 * huggingface/diffusers@58eb52c schedulers/scheduling_ddpm.py `step`.
 */
function ddpmFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  refuseOptions(options, className, ["sigmas"]);
  const reader = new ConfigReader(config, className);
  const alphas = readAlphas(reader, { ...ddpmBetas, schedules: [...commonSchedules, "laplace", "sigmoid"] });
  const type = readVarianceType(reader);
  const timesteps = checkedTimesteps(timestepsOf(reader, options, alphas.length), alphas.length);
  const steps = timesteps.map((timestep, i) => {
    const next = timesteps[i + 1];
    return ddpmStep(alphas[timestep]!, next === undefined ? 1 : alphas[next]!, type);
  });
  const kind = reader.choice("prediction_type", ["epsilon", "sample", "v_prediction"], "epsilon");
  const bounds = readBounds(reader, options, true);
  const draws = (call: number) => timesteps[call]! > 0;

  function update({ call, x, output, noise, limit }: UpdateInput<null>): UpdateResult<null> {
    const step = steps[call]!;
    const data = limit(predictData(kind, step.from, output, x));
    const mean = add(mul(step.data, data), mul(step.sample, x));
    return { x: draws(call) ? add(mean, mul(step.deviation, noise)) : mean, denoised: data, state: null };
  }

  return makeSampler({
    ...{ className, timesteps, update, initNoiseSigma: 1 },
    sigmas: sigmasOf(steps.map(({ from }) => from)),
    dtype: options.dtype ?? "float32",
    initialState: null,
    bounds,
    noiseAt: draws,
    mixtureAt: (call) => steps[call]!.from,
  });
}

/** DDPM on samples data + σ·noise: the posterior between two noise levels, which are the steps of `euler_a`. */
function ddpmOverModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;
  const draws = (call: number) => sigmas[call + 1]! > 0;

  function update({ call, x, output, noise }: UpdateInput<null>): UpdateResult<null> {
    const [sigma, next] = [sigmas[call]!, sigmas[call + 1]!];
    const { down, up } = ancestralSplit(sigma, next);
    const denoised = denoise(model.precondition(sigma), output, x);
    const mean = shrinkTowards(denoised, x, sigma, down);
    return { x: draws(call) ? add(mean, mul(noise, up)) : mean, denoised, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: null,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    noiseAt: draws,
  });
}

/** `ddpm`: DDPMScheduler. */
export const ddpm: SamplerDefinition = {
  name: "ddpm",
  className,
  fromConfig: ddpmFromConfig,
  overModel: ddpmOverModel,
};
