import { predictData } from "../arithmetic/prediction";
import { add, cast, mul } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { flowEulerTable } from "../schedule/flow-model";
import { mixtureAt } from "../solvers/solver-space";
import { eulerSampler } from "./euler";

const className = "FlowMatchEulerDiscreteScheduler";

/**
 * Euler's method along the straight paths of flow matching, where the network predicts noise − data; with `stochastic_sampling` each
 * step goes to the prediction and up again with fresh noise. Source: https://arxiv.org/abs/2210.02747; huggingface/diffusers@58eb52c
 * schedulers/scheduling_flow_match_euler_discrete.py `step`.
 */
function fromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  const reader = new ConfigReader(config, className);
  const { sigmas, timesteps, initNoiseSigma } = flowEulerTable(reader, options, className);
  const stochastic = reader.flag("stochastic_sampling", false);

  function update({ call, x, output, noise }: UpdateInput<null>): UpdateResult<null> {
    const [sigma, next] = [sigmas[call]!, sigmas[call + 1]!];
    const sample = cast(x, "float32");
    const denoised = predictData("flow_prediction", { signal: 1, noise: sigma }, output, sample);
    if (!stochastic) return { x: add(sample, mul(Math.fround(next - sigma), output)), denoised, state: null };
    const to = mixtureAt("flow", next);
    return { x: add(mul(to.signal, denoised), mul(to.noise, noise)), denoised, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    noiseDtype: "float32",
    initialState: null,
    noiseAt: () => stochastic,
    mixtureAt: (call) => mixtureAt("flow", sigmas[call]!),
  });
}

/** `flow_euler`: FlowMatchEulerDiscreteScheduler; on an SVD-like model, whose samples are these divided by their signal, its steps
 *  are those of `euler`. */
export const flowEuler: SamplerDefinition = {
  name: "flow_euler",
  className,
  fromConfig,
  overModel: (model, options) => eulerSampler(className, model, options),
};
