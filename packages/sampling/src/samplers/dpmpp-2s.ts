import { VdError } from "@vd/kernels-native";
import { readThresholding } from "../arithmetic/limiter";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import type { Sampler } from "../sampler";
import { ddpmBetas, readAlphas } from "../schedule/alphas";
import { requireFalling, type SigmaModel } from "../schedule/sigma-model";
import { readSolverType } from "../solvers/dpm-multistep";
import { predictOverModel, readPredict } from "../solvers/dpm-predict";
import { dpmSinglestepSampler, singlestepOrders } from "../solvers/dpm-singlestep";
import { dpmSolverTable, singlestepLevels } from "../solvers/dpm-solver-levels";
import type { DpmAlgorithm } from "../solvers/dpm-solver-update";
import { readFinalSigma } from "../solvers/solver-levels";
import { mixtureAt } from "../solvers/solver-space";

const { className } = singlestepLevels;

function readAlgorithm(reader: ConfigReader): DpmAlgorithm {
  const choices = ["dpmsolver", "dpmsolver++", "sde-dpmsolver++", "deis"] as const;
  const algorithm = reader.choice("algorithm_type", choices, "dpmsolver++");
  return algorithm === "deis" ? "dpmsolver++" : algorithm;
}

function readOrder(reader: ConfigReader): number {
  const order = reader.integer("solver_order", 2, 1);
  if (order <= 3) return order;
  const where = `${className}.solver_order`;
  throw new VdError({ code: "attr", where, expected: "an integer in 1…3", got: String(order) });
}

/** Single-step DPM-Solver. Source: huggingface/diffusers@58eb52c schedulers/scheduling_dpmsolver_singlestep.py. */
function fromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  const reader = new ConfigReader(config, className);
  reader.refuse("variance_type", "Models that also predict the variance have six output channels; none here does.");
  const alphas = readAlphas(reader, { ...ddpmBetas, rescalable: false });
  const table = dpmSolverTable(reader, options, alphas, singlestepLevels);
  const space = reader.flag("use_flow_sigmas", false) ? "flow" : "vp";
  const algorithm = readAlgorithm(reader);
  const [order, steps] = [readOrder(reader), table.timesteps.length];
  const endsInZero = readFinalSigma(reader) === "zero";
  // The reference turns this on where the orders would not come out even, or the last level is 0.
  const lowerOrderFinal = reader.flag("lower_order_final", false) || steps % order !== 0 || endsInZero;
  const bounds = readThresholding(reader, options);
  const mixtures = (call: number) => mixtureAt(space, table.sigmas[call]!);
  const schedule = {
    ...({ className, space, algorithm, type: readSolverType(reader), table: { ...table, initNoiseSigma: 1 } } as const),
    orders: singlestepOrders({ steps, order, lowerOrderFinal, endsInZero }),
    predict: readPredict(reader, bounds, className, algorithm, mixtures, table.sigmas),
    bounds,
  };
  return dpmSinglestepSampler(schedule, options);
}

/** DPM-Solver++(2S) on samples data + σ·noise, every second noise level being the middle of a step. */
function overModel(model: SigmaModel, options: SamplerOptions): Sampler {
  requireFalling(model.sigmas, className);
  const steps = model.timesteps.length;
  const schedule = {
    ...({ className, table: model, space: "ve", algorithm: "dpmsolver++", type: "midpoint" } as const),
    orders: singlestepOrders({ steps, order: 2, lowerOrderFinal: true, endsInZero: true }),
    ...predictOverModel(model),
  };
  return dpmSinglestepSampler(schedule, options);
}

/** `dpmpp_2s`: DPMSolverSinglestepScheduler. */
export const dpmpp2s: SamplerDefinition = { name: "dpmpp_2s", className, fromConfig, overModel };
