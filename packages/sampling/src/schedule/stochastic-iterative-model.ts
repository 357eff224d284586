import { VdError } from "@vd/kernels-native";
import type { Preconditioning } from "../arithmetic/preconditioning";
import { ConfigReader, type SchedulerConfig } from "../config";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { quarterLog } from "./euler-model";
import { type SigmaModel, withFinalSigma } from "./sigma-model";
import { karrasSigmas, type SigmaRange } from "./sigmas";

/** The class whose configs this file reads. */
export const stochasticIterativeClassName = "AnimateLCMSVDStochasticIterativeScheduler";

/** Levels that AnimateLCM was distilled over. */
export const DISTILLED_LEVELS = 40;

const round = Math.fround;

/**
 * Returns the noise levels of `steps` steps of a consistency-distilled model: every ⌊trained / steps⌋th of the levels of
 * the distillation, from the noisiest on. float64
 *
 * @throws VdError `attr` when more steps are asked for than there are levels
 */
export function distilledSigmas(range: SigmaRange, steps: number, trained = DISTILLED_LEVELS, rho = 7): number[] {
  if (steps > trained) {
    const expected = `at most the ${trained} steps of the distillation`;
    throw new VdError({ code: "attr", where: "steps", expected, got: String(steps) });
  }
  const stride = Math.floor(trained / steps);
  const ramp = Array.from({ length: steps }, (_, i) => (i * stride) / Math.max(trained - 1, 1));
  return karrasSigmas(range, ramp, rho);
}

/** EDM's preconditioning for v-prediction, rounded as the class rounds it. */
function preconditioning(sigma: number, sigmaData: number, outputSigma = sigma): Preconditioning {
  const variance = round(sigmaData * sigmaData);
  const total = (level: number) => round(round(level * level) + variance);
  const output = round(round(-outputSigma * round(sigmaData)) / round(Math.sqrt(total(outputSigma))));
  return {
    input: { by: round(Math.sqrt(total(sigma))), how: "over" },
    skip: { by: round(variance / total(outputSigma)), how: "left" },
    output: { by: output, how: "left" },
  };
}

/**
 * Returns the noise levels, timesteps (0.25·ln σ) and preconditioning of a config of the class. Source: the published
 * class of AnimateLCM-SVD, https://huggingface.co/spaces/wangfuyun/AnimateLCM-SVD `lcm_scheduler.py`; levels as in
 * https://arxiv.org/abs/2303.01469, preconditioning as in https://arxiv.org/abs/2206.00364 table 1.
 *
 * @throws VdError `attr` for values that the class refuses, `unsupported` for custom sigmas or timesteps
 */
export function stochasticIterativeModel(config: SchedulerConfig, options: SamplerOptions): SigmaModel {
  refuseOptions(options, stochasticIterativeClassName, ["sigmas", "timesteps"]);
  const reader = new ConfigReader(config, stochasticIterativeClassName);
  const [min, max] = [reader.number("sigma_min", 0.002), reader.number("sigma_max", 80)];
  const sigmaData = reader.number("sigma_data", 0.5);
  const trained = reader.integer("num_train_timesteps", DISTILLED_LEVELS, 1);
  const steps = stepCount(options, (count) => count);
  const sigmas = distilledSigmas({ min, max }, steps, trained, reader.number("rho", 7));
  return {
    sigmas: withFinalSigma(sigmas, 0),
    timesteps: sigmas.map((sigma) => 0.25 * Math.log(sigma)),
    timestepAt: quarterLog,
    initNoiseSigma: Math.sqrt(max * max + 1),
    precondition: (sigma, outputSigma) => preconditioning(sigma, sigmaData, outputSigma),
  };
}
