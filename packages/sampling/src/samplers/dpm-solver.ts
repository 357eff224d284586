import { VdError } from "@vd/kernels-native";
import { readThresholding } from "../arithmetic/limiter";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import type { Sampler } from "../sampler";
import { ddpmBetas, readAlphas, smallestFloat16 } from "../schedule/alphas";
import {
  type DpmSchedule,
  dpmMultistepSampler,
  readOrderLimit,
  readSolverType,
  secondOrderOverModel,
} from "../solvers/dpm-multistep";
import { readPredict } from "../solvers/dpm-predict";
import { dpmSolverTable, multistepLevels } from "../solvers/dpm-solver-levels";
import type { DpmAlgorithm } from "../solvers/dpm-solver-update";
import { mixtureAt } from "../solvers/solver-space";

const className = "DPMSolverMultistepScheduler";

function readAlgorithm(reader: ConfigReader): DpmAlgorithm {
  const choices = ["dpmsolver", "dpmsolver++", "sde-dpmsolver", "sde-dpmsolver++", "deis"] as const;
  const algorithm = reader.choice("algorithm_type", choices, "dpmsolver++");
  return algorithm === "deis" ? "dpmsolver++" : algorithm;
}

/** The reference fails at the first third-order step of sde-dpmsolver, which it does not have. */
function checkOrder(schedule: DpmSchedule): void {
  const steps = schedule.table.timesteps.map((_, call) =>
    Math.min(call + 1, schedule.order, schedule.orderLimit(call)),
  );
  if (schedule.algorithm !== "sde-dpmsolver" || !steps.some((order) => order > 2)) return;
  throw new VdError({
    code: "unsupported",
    where: `${className}.solver_order`,
    expected: "1 or 2 with algorithm_type sde-dpmsolver",
    got: String(schedule.order),
    hint: "sde-dpmsolver++ has a third-order step.",
  });
}

/**
 * Source: huggingface/diffusers@58eb52c schedulers/scheduling_dpmsolver_multistep.py.
 *
 * @throws VdError `attr`, `unsupported`
 */
function dpmFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  const reader = new ConfigReader(config, className);
  reader.refuse("variance_type", "Models that also predict the variance have six output channels; none here does.");
  const alphas = readAlphas(reader, { ...ddpmBetas, zeroSnrFloor: smallestFloat16 });
  const table = dpmSolverTable(reader, options, alphas, multistepLevels);
  const space = reader.flag("use_flow_sigmas", false) ? "flow" : "vp";
  const algorithm = readAlgorithm(reader);
  const bounds = readThresholding(reader, options);
  const mixtures = (call: number) => mixtureAt(space, table.sigmas[call]!);
  const schedule: DpmSchedule = {
    ...{ className, space, algorithm, type: readSolverType(reader) },
    table: { ...table, initNoiseSigma: 1 },
    order: reader.integer("solver_order", 2, 1),
    orderLimit: readOrderLimit(reader, table.timesteps.length),
    predict: readPredict(reader, bounds, className, algorithm, mixtures, table.sigmas),
    bounds,
  };
  checkOrder(schedule);
  return dpmMultistepSampler(schedule, options);
}

/** `dpmpp_2m`: DPMSolverMultistepScheduler. */
export const dpmSolver: SamplerDefinition = {
  name: "dpmpp_2m",
  className,
  fromConfig: dpmFromConfig,
  overModel: (model, options) => dpmMultistepSampler(secondOrderOverModel(className, model), options),
};
