import { VdError } from "@vd/kernels-native";
import { edmPreconditioning } from "../arithmetic/preconditioning";
import type { ConfigReader } from "../config";
import { type SamplerOptions, stepCount } from "../options";
import { quarterLog, quarterLogs } from "./euler-model";
import { linspace, linspaceFloat32 } from "./ranges";
import type { SigmaModel, SigmaTable } from "./sigma-model";
import { karrasSigmas } from "./sigmas";

function levels(reader: ConfigReader, ramp: readonly number[]): Float32Array {
  const range = { min: reader.number("sigma_min", 0.002), max: reader.number("sigma_max", 80) };
  if (reader.choice("sigma_schedule", ["karras", "exponential"], "karras") === "karras") {
    return Float32Array.from(karrasSigmas(range, ramp, reader.number("rho", 7)));
  }
  return linspaceFloat32(Math.log(range.min), Math.log(range.max), ramp.length).map(Math.exp).reverse();
}

function checkedRamp(ramp: readonly number[]): readonly number[] {
  const wrong = ramp.find((position) => !(position >= 0 && position <= 1));
  if (wrong === undefined && ramp.length > 0) return ramp;
  const expected = "positions in 0…1 on the schedule of the config";
  throw new VdError({ code: "attr", where: "sigmas", expected, got: String(wrong ?? "an empty list") });
}

function table(reader: ConfigReader, options: SamplerOptions): SigmaTable {
  const steps = stepCount(options, (count) => count);
  const sigmas = levels(reader, options.sigmas ? checkedRamp(options.sigmas) : linspace(0, 1, steps));
  const last = reader.choice("final_sigmas_type", ["zero", "sigma_min"], "zero") === "zero" ? 0 : sigmas.at(-1)!;
  const max = reader.number("sigma_max", 80);
  const all = Float32Array.from([...sigmas, last]);
  return { sigmas: all, timesteps: quarterLogs(all), initNoiseSigma: Math.sqrt(max * max + 1) };
}

/**
 * Returns the noise levels, timesteps (0.25·ln σ) and preconditioning of a config of the EDM classes. Source:
 * https://arxiv.org/abs/2206.00364; huggingface/diffusers@58eb52c schedulers/scheduling_edm_euler.py and
 * scheduling_edm_dpmsolver_multistep.py.
 *
 * @throws VdError `attr`
 */
export function edmModel(reader: ConfigReader, options: SamplerOptions): SigmaModel {
  const kind = reader.choice("prediction_type", ["epsilon", "v_prediction"], "epsilon");
  const sigmaData = reader.number("sigma_data", 0.5);
  return {
    ...table(reader, options),
    timestepAt: quarterLog,
    precondition: (sigma, outputSigma) => edmPreconditioning(kind, sigma, sigmaData, outputSigma),
  };
}
