import { shownJson, VdError } from "@vd/kernels-native";
import type { LatentDtype } from "./arithmetic/values";

/** Most steps of a sampler, and most timesteps of a training: ten times what models were trained with. */
export const MAX_STEPS = 10_000;

/** How to sample. Exactly one of `steps`, `sigmas` and `timesteps` decides the length, or they agree about it. */
export interface SamplerOptions {
  /** Denoising steps, at least 1. */
  steps?: number;
  /**
   * Noise levels to use instead of the config's: falling, ending in 0 or where the config's end; a level may repeat, but
   * for multistep samplers only the last one. EulerDiscreteScheduler, every sampler on an
   * SVD-like model, and UniPC with flow sigmas (there without the 0). EDMEulerScheduler takes them, as its reference
   * does, as positions in 0…1 on its own schedule.
   */
  sigmas?: readonly number[];
  /** Training timesteps to use instead of the config's spacing; where the class has them. */
  timesteps?: readonly number[];
  /** The type that latents, model outputs and noise have; default float32. */
  dtype?: LatentDtype;
  /** How many equal parts, one after another, thresholding treats on their own; default 1. */
  batch?: number;
  /** Stochasticity of the Euler samplers, S_churn and S_tmin ≤ σ ≤ S_tmax of https://arxiv.org/abs/2206.00364. */
  sChurn?: number;
  sTmin?: number;
  sTmax?: number;
  /** Standard deviation of the churned noise, S_noise, and of what `dpmpp_sde`, `dpmpp_2s_a`, `dpmpp_2m_sde` and `dpmpp_3m_sde`
   *  draw; default 1. */
  sNoise?: number;
  /** Stochasticity in 0…1 of DDIM (default 0), TCD (default 0.3) and of `dpmpp_sde`, `dpmpp_2s_a`, `dpmpp_2m_sde` and
   *  `dpmpp_3m_sde` (default 1). */
  eta?: number;
  /** DDIM: derive the noise again from the clipped prediction. */
  useClippedModelOutput?: boolean;
  /** LCM and TCD: the number of steps of the distillation, instead of the config's. */
  originalSteps?: number;
  /** LCM and TCD: the part of the schedule to use, in 0…1. */
  strength?: number;
  /** The shift of solvers with `use_dynamic_shifting`. */
  mu?: number;
}

function wrong(where: string, expected: string, got: unknown, hint?: string): VdError {
  return new VdError({ code: "attr", where, expected, got: String(got), hint });
}

/** Throws `attr` unless a list that is given is a list of numbers that steps can be made of. */
function checkList(name: "sigmas" | "timesteps", list: readonly number[] | undefined, fewest: number): void {
  if (list === undefined) return;
  // Lists in JavaScript may come without types: any array of numbers will do.
  const given: unknown = list;
  if (!Array.isArray(given) && !ArrayBuffer.isView(given)) throw wrong(name, "a list of numbers", shownJson(given));
  if (list.length < fewest || list.length > MAX_STEPS + 1)
    throw wrong(name, `a list of ${fewest} to ${MAX_STEPS + 1} numbers`, `${list.length} numbers`);
}

/** The number of steps that the options ask for; `fromSigmas` is how many a list of noise levels stands for. */
export function stepCount(options: SamplerOptions, fromSigmas: (count: number) => number): number {
  const { steps, sigmas, timesteps } = options;
  if (sigmas !== undefined && timesteps !== undefined) {
    throw wrong("sampler", "sigmas or timesteps", "both", "Leave one of them out.");
  }
  checkList("sigmas", sigmas, 1);
  checkList("timesteps", timesteps, 1);
  const implied = sigmas !== undefined ? fromSigmas(sigmas.length) : timesteps?.length;
  if (implied !== undefined && implied < 1)
    throw wrong("sigmas", "at least two noise levels, the last one usually 0", sigmas?.length);
  const count = steps ?? implied;
  if (count === undefined) throw wrong("steps", "the number of steps, or sigmas, or timesteps", "none of them");
  if (!(Number.isInteger(count) && count >= 1 && count <= MAX_STEPS)) {
    throw wrong("steps", `an integer in 1…${MAX_STEPS}`, count);
  }
  if (implied !== undefined && implied !== count) {
    throw wrong("steps", `${implied}, as many as the given ${sigmas ? "sigmas" : "timesteps"} make`, count);
  }
  return count;
}

/** Throws `unsupported` when the options hold something that the class has no use for. */
export function refuseOptions(options: SamplerOptions, className: string, keys: readonly (keyof SamplerOptions)[]) {
  for (const key of keys) {
    if (options[key] === undefined) continue;
    const expected = `no custom ${key}`;
    throw new VdError({ code: "unsupported", where: className, expected, got: JSON.stringify(options[key]) });
  }
}

/** A finite number of at least `min` and at most `max`, or the default. Throws `attr`. */
export function numberOption(value: number | undefined, name: string, fallback: number, min = 0, max = Infinity) {
  const number = value ?? fallback;
  if (!(number >= min && number <= max)) throw wrong(name, `a number in ${min}…${max}`, value);
  return number;
}

/**
 * Custom noise levels, checked: at least two, finite, none above the one before it, only the last one 0. The last one may
 * lie above the one before it up to `ownLast`, where the class's own table ends; so that table is taken too.
 *
 * @throws VdError `attr`
 */
export function checkedSigmas(sigmas: readonly number[], ownLast: number): readonly number[] {
  if (sigmas.length < 2) throw wrong("sigmas", "at least two noise levels, the last one usually 0", sigmas.length);
  const last = sigmas.length - 1;
  for (let i = 0; i <= last; i++) {
    const sigma = sigmas[i]!;
    const where = `sigmas[${i}]`;
    if (!Number.isFinite(sigma) || sigma < 0) throw wrong(where, "a finite number, not negative", sigma);
    if (i < last && sigma === 0) throw wrong(where, "a positive number, since only the last noise level is 0", sigma);
    const most = i === 0 ? Infinity : Math.max(sigmas[i - 1]!, i === last ? ownLast : 0);
    if (sigma > most) throw wrong(where, `at most ${most}`, sigma);
  }
  return sigmas;
}
