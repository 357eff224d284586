import {
  having,
  NUMBER,
  oneOfThese,
  optional,
  requireArgument,
  requireFields,
  type WantedFields,
} from "@vd/kernels-native";
import { add, div, mul, VALUES, type Values } from "./values";

/** A number and what the reference does with it; values·by, values/by and by·values round differently. */
export interface Scale {
  readonly by: number;
  readonly how: "times" | "over" | "left";
}

/** Leaves values as they are. */
export const unscaled: Scale = { by: 1, how: "times" };

/** The scale as one factor. */
export function scaleFactor({ by, how }: Scale): number {
  return how === "over" ? 1 / by : by;
}

/** The scaled values; the same ones where the scale is 1. */
export function applyScale(values: Values, { by, how }: Scale): Values {
  if (by === 1) return values;
  if (how === "over") return div(values, by);
  return how === "times" ? mul(values, by) : mul(by, values);
}

/**
 * How a raw network becomes a denoiser at one noise level: D(x) = skip·x + output·F(input·x). Source:
 * https://arxiv.org/abs/2206.00364, equation 7.
 */
export interface Preconditioning {
  readonly input: Scale;
  /** Undefined where the network's output is the prediction itself. */
  readonly skip?: Scale;
  readonly output: Scale;
}

const EDM_PREDICTIONS = ["epsilon", "v_prediction"] as const;
const PREDICTIONS = [...EDM_PREDICTIONS, "sample"] as const;

/** What a network's output stands for, where samples are data + σ·noise. */
export type Prediction = (typeof PREDICTIONS)[number];

const SCALE = having("a scale { by, how }", ["by", "how"]);
const DENOISER: WantedFields = { skip: optional(SCALE), output: SCALE };
const [PREDICTION, EDM_PREDICTION] = [oneOfThese(PREDICTIONS), oneOfThese(EDM_PREDICTIONS)];

const round = Math.fround;

/** √(σ² + 1) in float32. */
export function totalDeviation(sigma: number): number {
  return round(Math.sqrt(variancePlusOne(sigma)));
}

function variancePlusOne(sigma: number): number {
  return round(round(sigma * sigma) + 1);
}

/**
 * The preconditioning of the k-diffusion family at σ, each number in float32. `outputSigma` is the noise level of the
 * sample that the output is applied to, which differs from the model's after churning. v-prediction is EDM with σ_data 1.
 * Source: huggingface/diffusers@58eb52c schedulers/scheduling_euler_discrete.py `step`.
 *
 * @throws VdError `attr` for another prediction and for what is no number
 */
export function preconditioning(prediction: Prediction, sigma: number, outputSigma = sigma): Preconditioning {
  requireArgument("preconditioning prediction", prediction, PREDICTION);
  requireArgument("preconditioning sigma", sigma, NUMBER);
  const input: Scale = { by: totalDeviation(sigma), how: "over" };
  if (prediction === "sample") return { input, output: unscaled };
  if (prediction === "epsilon") return { input, skip: unscaled, output: { by: -outputSigma, how: "left" } };
  const skip: Scale = { by: variancePlusOne(sigma), how: "over" };
  return { input, skip, output: { by: round(-sigma / totalDeviation(sigma)), how: "times" } };
}

/**
 * The preconditioning of EDM at σ for data of deviation `sigmaData`, each number in float32. Source: table 1 of
 * https://arxiv.org/abs/2206.00364; huggingface/diffusers@58eb52c schedulers/scheduling_edm_euler.py.
 *
 * @throws VdError `attr` for another prediction and for what is no number
 */
export function edmPreconditioning(
  prediction: (typeof EDM_PREDICTIONS)[number],
  sigma: number,
  sigmaData: number,
  outputSigma = sigma,
): Preconditioning {
  requireArgument("edmPreconditioning prediction", prediction, EDM_PREDICTION);
  requireArgument("edmPreconditioning sigma", sigma, NUMBER);
  requireArgument("edmPreconditioning sigmaData", sigmaData, NUMBER);
  const dataVariance = round(sigmaData * sigmaData);
  const total = (level: number) => round(round(level * level) + dataVariance);
  const sign = prediction === "epsilon" ? 1 : -1;
  const output = round(round(sign * outputSigma * round(sigmaData)) / round(Math.sqrt(total(outputSigma))));
  return {
    input: { by: round(1 / round(Math.sqrt(total(sigma)))), how: "times" },
    skip: { by: round(dataVariance * round(1 / total(outputSigma))), how: "left" },
    output: { by: output, how: "left" },
  };
}

/**
 * The denoised sample, from the network's output and the (unscaled) sample.
 *
 * @throws VdError `attr` for what is no preconditioning, and for what are no values
 */
export function denoise(preconditioning: Preconditioning, modelOutput: Values, x: Values): Values {
  requireFields("denoise preconditioning", preconditioning, DENOISER);
  requireFields("denoise modelOutput", modelOutput, VALUES);
  requireFields("denoise x", x, VALUES);
  const { skip, output } = preconditioning;
  if (skip === undefined) return modelOutput;
  return add(applyScale(modelOutput, output), applyScale(x, skip));
}
