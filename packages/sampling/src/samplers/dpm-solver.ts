import { VdError } from "@vd/kernels-native";
import { readThresholding } from "../arithmetic/limiter";
import { denoise, type Scale } from "../arithmetic/preconditioning";
import { type MixturePrediction, noiseOf, predictData, predictNoise } from "../arithmetic/prediction";
import { cast, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { ddpmBetas, readAlphas, smallestFloat16, trainingSigmas } from "../schedule/alphas";
import { requireFalling, type SigmaModel, type SigmaTable } from "../schedule/sigma-model";
import { dpmSolverTable } from "../solvers/dpm-solver-levels";
import { type DpmAlgorithm, type DpmSolverType, dpmSolverUpdate } from "../solvers/dpm-solver-update";
import { readFinalSigma } from "../solvers/solver-levels";
import { mixtureAt, type SolverSpace } from "../solvers/solver-space";

const className = "DPMSolverMultistepScheduler";

/** The predictions so far, newest first. */
interface DpmState {
  predictions: readonly Values[];
}

/** Everything that a multistep run fixes. */
interface DpmSchedule {
  table: SigmaTable;
  space: SolverSpace;
  algorithm: DpmAlgorithm;
  type: DpmSolverType;
  order: number;
  /** How many steps of a call may look back, from the ends' rules. */
  orderLimit(call: number): number;
  /** The data prediction, for previews, and what the algorithm extrapolates. */
  predict(call: number, output: Values, x: Values): { denoised: Values; prediction: Values };
  inputScaleAt?: (call: number) => Scale;
}

/** A multistep solver; the order grows by one per step up to that of the schedule. */
function dpmSampler(schedule: DpmSchedule, options: SamplerOptions): Sampler {
  const { table, space, algorithm, type } = schedule;
  const { sigmas, timesteps, initNoiseSigma } = table;
  const stochastic = algorithm.startsWith("sde");

  function update({ call, x, output, noise, state }: UpdateInput<DpmState>): UpdateResult<DpmState> {
    const { denoised, prediction } = schedule.predict(call, output, x);
    const history = [prediction, ...state.predictions].slice(0, schedule.order);
    const order = Math.min(history.length, schedule.orderLimit(call), 3);
    const from = Array.from({ length: order }, (_, i) => mixtureAt(space, sigmas[call - i]!));
    const to = mixtureAt(space, sigmas[call + 1]!);
    const step = { algorithm, type, to, from, predictions: history.slice(0, order) };
    return { x: dpmSolverUpdate(step, cast(x, "float32"), noise), denoised, state: { predictions: history } };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    noiseDtype: "float32",
    initialState: { predictions: [] },
    noiseAt: () => stochastic,
    ...(schedule.inputScaleAt && { inputScaleAt: schedule.inputScaleAt }),
  });
}

function readAlgorithm(reader: ConfigReader): DpmAlgorithm {
  const choices = ["dpmsolver", "dpmsolver++", "sde-dpmsolver", "sde-dpmsolver++", "deis"] as const;
  const algorithm = reader.choice("algorithm_type", choices, "dpmsolver++");
  return algorithm === "deis" ? "dpmsolver++" : algorithm;
}

function readSolverType(reader: ConfigReader): DpmSolverType {
  return reader.choice("solver_type", ["midpoint", "heun", "logrho", "bh1", "bh2"], "midpoint") === "heun"
    ? "heun"
    : "midpoint";
}

/** How far back a step may look: the last ones less, where the config or a final σ of 0 asks for it. */
function readOrderLimit(reader: ConfigReader, steps: number): (call: number) => number {
  const lowerOrderFinal = reader.flag("lower_order_final", true) && steps < 15;
  const firstOrderLast = reader.flag("euler_at_final", false) || lowerOrderFinal || readFinalSigma(reader) === "zero";
  return (call) => {
    if (call === steps - 1 && firstOrderLast) return 1;
    return call === steps - 2 && lowerOrderFinal ? 2 : Number.POSITIVE_INFINITY;
  };
}

function checkAlgorithm(reader: ConfigReader, algorithm: DpmAlgorithm, kind: MixturePrediction): void {
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

/** The prediction that the algorithm works on, thresholded where the config says so. */
function readPredict(
  reader: ConfigReader,
  options: SamplerOptions,
  algorithm: DpmAlgorithm,
  mixtures: (call: number) => ReturnType<typeof mixtureAt>,
  sigmas: Float32Array,
): DpmSchedule["predict"] {
  const kinds = ["epsilon", "sample", "v_prediction", "flow_prediction"] as const;
  const kind = reader.choice("prediction_type", kinds, "epsilon");
  checkAlgorithm(reader, algorithm, kind);
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

/**
 * Source: huggingface/diffusers@58eb52c schedulers/scheduling_dpmsolver_multistep.py.
 *
 * @throws VdError `attr`, `unsupported`
 */
function dpmFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  const reader = new ConfigReader(config, className);
  reader.refuse("variance_type", "Models that also predict the variance have six output channels; none here does.");
  const alphas = readAlphas(reader, { ...ddpmBetas, zeroSnrFloor: smallestFloat16 });
  const table = dpmSolverTable(reader, options, alphas, trainingSigmas(alphas));
  const space = reader.flag("use_flow_sigmas", false) ? "flow" : "vp";
  const algorithm = readAlgorithm(reader);
  const mixtures = (call: number) => mixtureAt(space, table.sigmas[call]!);
  const schedule: DpmSchedule = {
    ...{ space, algorithm, type: readSolverType(reader) },
    table: { ...table, initNoiseSigma: 1 },
    order: reader.integer("solver_order", 2, 1),
    orderLimit: readOrderLimit(reader, table.timesteps.length),
    predict: readPredict(reader, options, algorithm, mixtures, table.sigmas),
  };
  checkOrder(schedule);
  return dpmSampler(schedule, options);
}

/** DPM-Solver++ of second order (midpoint) on samples data + σ·noise; the step to 0 is of first order. */
function dpmOverModel(model: SigmaModel, options: SamplerOptions): Sampler {
  requireFalling(model.sigmas, className);
  const last = model.timesteps.length - 1;
  return dpmSampler(
    {
      ...{ table: model, space: "ve", algorithm: "dpmsolver++", type: "midpoint", order: 2 },
      orderLimit: (call) => (call === last ? 1 : 2),
      predict(call, output, x) {
        const denoised = denoise(model.precondition(model.sigmas[call]!), output, x);
        return { denoised, prediction: denoised };
      },
      inputScaleAt: (call) => model.precondition(model.sigmas[call]!).input,
    },
    options,
  );
}

/** `dpmpp_2m`: DPMSolverMultistepScheduler. */
export const dpmSolver: SamplerDefinition = {
  name: "dpmpp_2m",
  className,
  fromConfig: dpmFromConfig,
  overModel: dpmOverModel,
};
