import { VdError } from "@vd/kernels-native";
import type { DataBounds, Limiter } from "../arithmetic/limiter";
import { denoise, type Scale } from "../arithmetic/preconditioning";
import { type MixturePrediction, noiseOf, predictData, predictNoise } from "../arithmetic/prediction";
import type { Values } from "../arithmetic/values";
import type { ConfigReader } from "../config";
import type { SigmaModel } from "../schedule/sigma-model";
import type { DpmAlgorithm } from "./dpm-solver-update";
import { readFinalSigma } from "./solver-levels";
import type { mixtureAt } from "./solver-space";

/** Returns the data prediction of a call, kept within bounds by `limit`, for previews, and what the algorithm extrapolates. */
export type DpmPredict = (
  call: number,
  output: Values,
  x: Values,
  limit: Limiter,
) => { denoised: Values; prediction: Values };

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
 * Reads the prediction that an algorithm works on; where it has bounds, the noise follows from the bounded data.
 *
 * @throws VdError `attr` for what the algorithm cannot do
 */
export function readPredict(
  reader: ConfigReader,
  bounds: DataBounds | undefined,
  className: string,
  algorithm: DpmAlgorithm,
  mixtures: (call: number) => ReturnType<typeof mixtureAt>,
  sigmas: Float32Array,
): DpmPredict {
  const kinds = ["epsilon", "sample", "v_prediction", "flow_prediction"] as const;
  const kind = reader.choice("prediction_type", kinds, "epsilon");
  checkAlgorithm(reader, className, algorithm, kind);
  return (call, output, x, limit) => {
    const parts = mixtures(call);
    // The flow prediction is defined by σ itself, also where the samples are not flow samples.
    const used = kind === "flow_prediction" ? { ...parts, noise: sigmas[call]! } : parts;
    if (algorithm.endsWith("++")) {
      const data = predictData(kind, used, output, x);
      const denoised = limit(data);
      return { denoised, prediction: denoised };
    }
    const epsilon = predictNoise(kind, parts, output, x);
    const data = predictData("epsilon", parts, epsilon, x);
    if (bounds === undefined) return { denoised: data, prediction: epsilon };
    const denoised = limit(data);
    return { denoised, prediction: noiseOf(parts, denoised, x) };
  };
}
