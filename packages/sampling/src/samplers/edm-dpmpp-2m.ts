import { VdError } from "@vd/kernels-native";
import { type Limiter, readThresholding } from "../arithmetic/limiter";
import { denoise } from "../arithmetic/preconditioning";
import type { Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions } from "../options";
import type { Sampler } from "../sampler";
import { edmModel } from "../schedule/edm-model";
import type { SigmaModel } from "../schedule/sigma-model";
import { dpmMultistepSampler, readOrderLimit, readSolverType, secondOrderOverModel } from "../solvers/dpm-multistep";

const className = "EDMDPMSolverMultistepScheduler";

function modelOf(config: SchedulerConfig, options: SamplerOptions): SigmaModel {
  refuseOptions(options, className, ["sigmas", "timesteps"]);
  return edmModel(new ConfigReader(config, className), options);
}

function readAlgorithm(reader: ConfigReader, order: number): "dpmsolver++" | "sde-dpmsolver++" {
  const algorithm = reader.choice("algorithm_type", ["dpmsolver++", "sde-dpmsolver++", "deis"], "dpmsolver++");
  if (algorithm !== "sde-dpmsolver++") return "dpmsolver++";
  if (order < 3) return algorithm;
  const where = `${className}.solver_order`;
  throw new VdError({
    code: "unsupported",
    where,
    expected: `1 or 2 with algorithm_type ${algorithm}`,
    got: `${order}`,
  });
}

/**
 * DPM-Solver++ over EDM's noise levels and preconditioning. Source: huggingface/diffusers@58eb52c
 * schedulers/scheduling_edm_dpmsolver_multistep.py.
 */
function fromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  const reader = new ConfigReader(config, className);
  const model = modelOf(config, options);
  const { sigmas } = model;
  const order = reader.integer("solver_order", 2, 1);
  const schedule = {
    ...({ className, table: model, space: "ve", algorithm: readAlgorithm(reader, order) } as const),
    ...{ type: readSolverType(reader), order, orderLimit: readOrderLimit(reader, model.timesteps.length) },
    predict(call: number, output: Values, x: Values, limit: Limiter) {
      const denoised = limit(denoise(model.precondition(sigmas[call]!), output, x));
      return { denoised, prediction: denoised };
    },
    bounds: readThresholding(reader, options),
    inputScaleAt: (call: number) => model.precondition(sigmas[call]!).input,
  };
  return dpmMultistepSampler(schedule, options);
}

/** `edm_dpmpp_2m`: EDMDPMSolverMultistepScheduler; on an SVD-like model its steps are those of `dpmpp_2m`. */
export const edmDpmpp2m: SamplerDefinition = {
  name: "edm_dpmpp_2m",
  className,
  fromConfig,
  overModel: (model, options) => dpmMultistepSampler(secondOrderOverModel(className, model), options),
  continuousModel: modelOf,
};
