import { VdError } from "@vd/kernels-native";
import { readThresholding } from "../arithmetic/limiter";
import { denoise, type Scale } from "../arithmetic/preconditioning";
import { type MixturePrediction, noiseOf, predictData, predictNoise } from "../arithmetic/prediction";
import type { Values } from "../arithmetic/values";
import type { ConfigReader } from "../config";
import type { SamplerOptions } from "../options";
import type { SigmaModel } from "../schedule/sigma-model";
import type { DpmAlgorithm } from "./dpm-solver-update";
import { readFinalSigma } from "./solver-levels";
import type { mixtureAt } from "./solver-space";

/** Returns the data prediction of a call, for previews, and what the algorithm extrapolates. */
export type DpmPredict = (call: number, output: Values, x: Values) => { denoised: Values; prediction: Values };

/** Returns how a model of samples data + σ·noise predicts data, and how its input is scaled. */
export function predictOverModel(model: SigmaModel): { predict: DpmPredict; inputScaleAt(call: number): Scale } {
  const at = (call: number) => model.precondition(model.sigmas[call]!);
  return {
    predict(call, output, x) {
      const denoised = denoise(at(call), output, x);
      return { denoised, prediction: denoised };
    },
    inputScaleAt: (call) => at(call).input,
  };
}

function checkAlgorithm(
  reader: ConfigReader,
  className: string,
  algorithm: DpmAlgorithm,
  kind: MixturePrediction,
): void {
  if (algorithm.endsWith("++")) return;
  if (readFinalSigma(reader) === "zero") {
    const where = `${className}.final_sigmas_type`;
    throw new VdError({ code: "attr", where, expected: `sigma_min with algorithm_type ${algorithm}`, got: "zero" });
  }
  if (kind === "flow_prediction") {
    const where = `${className}.prediction_type`;
    throw new VdError({ code: "attr", where, expected: `another one with algorithm_type ${algorithm}`, got: kind });
  }
}

/**
 * Reads the prediction that an algorithm works on, thresholded where the config says so.
 *
 * @throws VdError `attr` for what the algorithm cannot do
 */
export function readPredict(
  reader: ConfigReader,
  options: SamplerOptions,
  className: string,
  algorithm: DpmAlgorithm,
  mixtures: (call: number) => ReturnType<typeof mixtureAt>,
  sigmas: Float32Array,
): DpmPredict {
  const kinds = ["epsilon", "sample", "v_prediction", "flow_prediction"] as const;
  const kind = reader.choice("prediction_type", kinds, "epsilon");
  checkAlgorithm(reader, className, algorithm, kind);
  const limit = readThresholding(reader, options);
  return (call, output, x) => {
    const parts = mixtures(call);
    // The flow prediction is defined by σ itself, also where the samples are not flow samples.
    const used = kind === "flow_prediction" ? { ...parts, noise: sigmas[call]! } : parts;
    if (algorithm.endsWith("++")) {
      const data = predictData(kind, used, output, x);
      const denoised = limit?.(data) ?? data;
      return { denoised, prediction: denoised };
    }
    const epsilon = predictNoise(kind, parts, output, x);
    const data = predictData("epsilon", parts, epsilon, x);
    if (limit === undefined) return { denoised: data, prediction: epsilon };
    const denoised = limit(data);
    return { denoised, prediction: noiseOf(parts, denoised, x) };
  };
}
