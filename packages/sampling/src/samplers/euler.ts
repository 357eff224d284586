import { denoise } from "../arithmetic/preconditioning";
import { add, cast, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader } from "../config";
import type { SamplerDefinition } from "../definition";
import { numberOption, type SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput } from "../sampler";
import { eulerClassName, eulerModel, isContinuous } from "../schedule/euler-model";
import type { SigmaModel } from "../schedule/sigma-model";

const round = Math.fround;

/** S_churn and its companions, checked. */
interface Churn {
  amount: number;
  min: number;
  max: number;
  noise: number;
}

function readChurn(options: SamplerOptions): Churn {
  return {
    amount: numberOption(options.sChurn, "sChurn", 0),
    min: round(numberOption(options.sTmin, "sTmin", 0)),
    max: round(numberOption(options.sTmax, "sTmax", Number.POSITIVE_INFINITY)),
    noise: numberOption(options.sNoise, "sNoise", 1),
  };
}

/** γ of algorithm 2 of https://arxiv.org/abs/2206.00364: how much the noise level rises before a step. */
function churnAt({ amount, min, max }: Churn, sigma: number, steps: number): number {
  return min <= sigma && sigma <= max ? Math.min(amount / steps, Math.SQRT2 - 1) : 0;
}

function withNoise(x: Values, noise: Values, churn: Churn, sigma: number, raised: number): Values {
  const added = round(Math.sqrt(round(round(raised * raised) - round(sigma * sigma))));
  return add(x, mul(mul(noise, churn.noise), added));
}

/**
 * Euler's method on the probability-flow ODE, with churn. The sample is float32 inside a step. Source: algorithm 2 of
 * https://arxiv.org/abs/2206.00364; huggingface/diffusers@58eb52c schedulers/scheduling_euler_discrete.py `step`.
 */
export function eulerSampler(className: string, model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;
  const churn = readChurn(options);
  const gammaAt = (call: number) => churnAt(churn, sigmas[call]!, sigmas.length - 1);

  function update({ call, x, output, noise }: UpdateInput<null>) {
    const sigma = sigmas[call]!;
    const gamma = gammaAt(call);
    const raised = round(sigma * round(gamma + 1));
    const sample = cast(x, "float32");
    const start = gamma > 0 ? withNoise(sample, noise, churn, sigma, raised) : sample;
    const denoised = denoise(model.precondition(sigma, raised), output, start);
    const derivative = div(sub(start, denoised), raised);
    return { x: add(start, mul(derivative, round(sigmas[call + 1]! - raised))), denoised, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: null,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    noiseAt: (call) => gammaAt(call) > 0,
  });
}

/** `euler`: EulerDiscreteScheduler, what SVD's own config names. */
export const euler: SamplerDefinition = {
  name: "euler",
  className: eulerClassName,
  fromConfig: (config, options) => eulerSampler(eulerClassName, eulerModel(config, options), options),
  overModel: (model, options) => eulerSampler(eulerClassName, model, options),
  continuousModel: (config, options) =>
    isContinuous(new ConfigReader(config, eulerClassName)) ? eulerModel(config, options) : undefined,
};
