import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions } from "../options";
import { edmModel } from "../schedule/edm-model";
import type { SigmaModel } from "../schedule/sigma-model";
import { eulerSampler } from "./euler";

const className = "EDMEulerScheduler";

function modelOf(config: SchedulerConfig, options: SamplerOptions): SigmaModel {
  refuseOptions(options, className, ["timesteps"]);
  return edmModel(new ConfigReader(config, className), options);
}

/** `edm_euler`: EDMEulerScheduler; on an SVD-like model its steps are those of `euler`. */
export const edmEuler: SamplerDefinition = {
  name: "edm_euler",
  className,
  fromConfig: (config, options) => eulerSampler(className, modelOf(config, options), options),
  overModel: (model, options) => eulerSampler(className, model, options),
  continuousModel: modelOf,
};
