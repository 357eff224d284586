import type { DataBounds } from "../arithmetic/limiter";
import type { Scale } from "../arithmetic/preconditioning";
import { cast, type Values } from "../arithmetic/values";
import type { ConfigReader } from "../config";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { requireFalling, type SigmaModel, type SigmaTable } from "../schedule/sigma-model";
import { type DpmPredict, predictOverModel } from "./dpm-predict";
import { type DpmAlgorithm, type DpmSolverType, dpmSolverUpdate } from "./dpm-solver-update";
import { readFinalSigma } from "./solver-levels";
import { mixtureAt, type SolverSpace } from "./solver-space";

/** The predictions so far, newest first. */
interface DpmState {
  predictions: readonly Values[];
}

/** Everything that a multistep run fixes. */
export interface DpmSchedule {
  className: string;
  table: SigmaTable;
  space: SolverSpace;
  algorithm: DpmAlgorithm;
  type: DpmSolverType;
  order: number;
  /** How many steps of a call may look back, from the ends' rules. */
  orderLimit(call: number): number;
  predict: DpmPredict;
  bounds?: DataBounds | undefined;
  inputScaleAt?: (call: number) => Scale;
}

/** Makes a multistep solver; the order grows by one per step up to that of the schedule. */
export function dpmMultistepSampler(schedule: DpmSchedule, options: SamplerOptions): Sampler {
  const { className, table, space, algorithm, type } = schedule;
  const { sigmas, timesteps, initNoiseSigma } = table;
  const stochastic = algorithm.startsWith("sde");

  function update({ call, x, output, noise, state, limit }: UpdateInput<DpmState>): UpdateResult<DpmState> {
    const { denoised, prediction } = schedule.predict(call, output, x, limit);
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
    bounds: schedule.bounds,
    noiseAt: () => stochastic,
    mixtureAt: (call) => mixtureAt(space, sigmas[call]!),
    ...(schedule.inputScaleAt && { inputScaleAt: schedule.inputScaleAt }),
  });
}

/**
 * Reads `solver_type`.
 *
 * @throws VdError `attr`
 */
export function readSolverType(reader: ConfigReader): DpmSolverType {
  return reader.choice("solver_type", ["midpoint", "heun", "logrho", "bh1", "bh2"], "midpoint") === "heun"
    ? "heun"
    : "midpoint";
}

/** Reads how far back a step may look: the last ones less, where the config or a final σ of 0 asks for it. */
export function readOrderLimit(reader: ConfigReader, steps: number): (call: number) => number {
  const lowerOrderFinal = reader.flag("lower_order_final", true) && steps < 15;
  const firstOrderLast = reader.flag("euler_at_final", false) || lowerOrderFinal || readFinalSigma(reader) === "zero";
  return (call) => {
    if (call === steps - 1 && firstOrderLast) return 1;
    return call === steps - 2 && lowerOrderFinal ? 2 : Number.POSITIVE_INFINITY;
  };
}

/** Returns DPM-Solver++ of second order (midpoint) on samples data + σ·noise; the step to 0 is of first order. */
export function secondOrderOverModel(className: string, model: SigmaModel): DpmSchedule {
  requireFalling(model.sigmas, className);
  const last = model.timesteps.length - 1;
  return {
    ...{ className, table: model, space: "ve", algorithm: "dpmsolver++", type: "midpoint", order: 2 },
    orderLimit: (call) => (call === last ? 1 : 2),
    ...predictOverModel(model),
  };
}
