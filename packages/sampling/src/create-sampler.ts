import { requireArgument, shownJson, TEXT, VdError } from "@vd/kernels-native";
import { nearestNames } from "@vd/tensor";
import { classNameOf, type SchedulerConfig } from "./config";
import type { SamplerDefinition } from "./definition";
import type { SamplerOptions } from "./options";
import type { Sampler } from "./sampler";
import { euler } from "./samplers/euler";
import { SAMPLERS, type SamplerName } from "./samplers.generated";

/** Every sampler there is: the default, then the others in the order of their files. */
export const samplerDefinitions: readonly SamplerDefinition[] = [
  euler,
  ...SAMPLERS.filter((definition) => definition !== euler),
];

/** The short names that {@link createSampler} takes, the default first. */
export const samplerNames = samplerDefinitions.map(({ name }) => name) as readonly SamplerName[];

/**
 * The definition for a short name (`euler`, `dpmpp_2m`) or a diffusers class name. Throws `attr` with the list and the
 * nearest name.
 */
export function findSampler(name: string): SamplerDefinition {
  requireArgument("sampler", name, TEXT);
  const found = samplerDefinitions.find((definition) => definition.name === name || definition.className === name);
  if (found !== undefined) return found;
  const [nearest] = nearestNames(name.toLowerCase(), samplerNames, 1);
  throw new VdError({
    code: "attr",
    where: "sampler",
    expected: `one of ${samplerNames.join(", ")}`,
    got: JSON.stringify(name),
    hint: `The nearest name is ${nearest}.`,
  });
}

/** The options as they were given, in JavaScript perhaps none. */
function optionsOf<T extends object>(given: T | null | undefined): T {
  if (typeof given === "object" && given !== null) return given;
  const expected = "options, such as { steps: 25 }";
  throw new VdError({ code: "attr", where: "createSampler", expected, got: shownJson(given) });
}

/**
 * Makes a sampler. Without `name` it is the config's own class with every setting of that class, as diffusers runs it.
 *
 * With `name` it is that sampler for the model that the config belongs to. A model that is conditioned on 0.25·ln σ (SVD:
 * EulerDiscreteScheduler with `timestep_type: continuous` and v-prediction; EDMEulerScheduler) keeps its noise levels,
 * timesteps, preconditioning and first-sample scale, and only the update rule changes: all samplers then run on samples
 * data + σ·noise. A class's own discrete timesteps mean nothing to such a network. Over SVD's levels, `euler`,
 * `edm_euler` and `flow_euler` take the same steps, as does `ddim` while eta is 0; so do `dpmpp_2m` and `edm_dpmpp_2m`, and
 * `euler_a` and `ddpm`. `heun`, `kdpm2`, `dpmpp_2m`, `dpmpp_2s`, `deis` and `unipc` are of second order and need fewer steps
 * for the same trajectory, `lms`, `pndm` and `ipndm` of up to fourth. `euler_a`, `kdpm2_a`, `dpmpp_2s_a` and those with `sde`
 * draw noise between steps, as do `lcm`, `tcd` and `animatelcm`, which are made for distilled models, and on others give softer videos;
 * `animatelcm` takes the levels of the distillation, between the first and the last of the model. A
 * model with discrete timesteps gets the other class's own schedule, with the settings that both classes share.
 *
 * Throws `attr` for an unknown name or a value that a class refuses, `unsupported` for what a class cannot do.
 *
 * @example
 * ```ts
 * import { createSampler } from "@vd/sampling";
 *
 * const sampler = createSampler({ _class_name: "EulerDiscreteScheduler" }, { name: "dpmpp_2m", steps: 25 });
 * console.log(sampler.numSteps, sampler.sigmas);
 * ```
 */
export function createSampler(config: SchedulerConfig, options: SamplerOptions & { name?: string }): Sampler {
  const { name, ...rest } = optionsOf(options);
  const own = classNameOf(config, euler.className);
  const wanted = findSampler(name ?? own);
  if (wanted.className === own) return wanted.fromConfig(config, rest);
  const owner = samplerDefinitions.find(({ className }) => className === own);
  const model = owner?.continuousModel?.(config, rest);
  return model === undefined ? wanted.fromConfig(config, rest) : wanted.overModel(model, rest);
}
