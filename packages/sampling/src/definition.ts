import type { SchedulerConfig } from "./config";
import type { SamplerOptions } from "./options";
import type { Sampler } from "./sampler";
import type { SigmaModel } from "./schedule/sigma-model";

/** What a file of `samplers/` exports under its own name in camelCase; `pnpm gen` lists the folder. */
export interface SamplerDefinition {
  /** The short name, as `--sampler` takes it. */
  readonly name: string;
  /** The diffusers class, or k-diffusion's function where diffusers has none. */
  readonly className: string;
  /** The sampler of a config of the class, with the class's own noise levels and timesteps. */
  fromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler;
  /**
   * The class's update rule over another model's noise levels, on samples data + σ·noise (the variance-exploding form,
   * so that the first sample and the model's inputs are the same for every sampler).
   */
  overModel(model: SigmaModel, options: SamplerOptions): Sampler;
  /**
   * The noise levels and preconditioning of a config of the class whose model is conditioned on ln σ, which other update
   * rules then keep; undefined for a model of discrete timesteps. Left out by classes that have only such models.
   */
  continuousModel?(config: SchedulerConfig, options: SamplerOptions): SigmaModel | undefined;
}
