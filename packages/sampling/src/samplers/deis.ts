import { type DataBounds, readThresholding } from "../arithmetic/limiter";
import { denoise } from "../arithmetic/preconditioning";
import { noiseOf, predictData } from "../arithmetic/prediction";
import type { Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { ddpmBetas, readAlphas } from "../schedule/alphas";
import { requireFalling, type SigmaModel, type SigmaTable } from "../schedule/sigma-model";
import { deisTable } from "../solvers/deis-levels";
import { deisUpdate } from "../solvers/deis-update";
import type { DpmPredict } from "../solvers/dpm-predict";
import { mixtureAt, type SolverSpace } from "../solvers/solver-space";

const className = "DEISMultistepScheduler";

/** The noise predictions so far, newest first. */
interface DeisState {
  predictions: readonly Values[];
}

/** Everything that a run fixes. */
interface DeisSchedule {
  table: SigmaTable;
  space: SolverSpace;
  order: number;
  /** How many steps of a call may look back. */
  orderLimit(call: number): number;
  predict: DpmPredict;
  bounds?: DataBounds | undefined;
  inputScaleAt?: Parameters<typeof makeSampler>[0]["inputScaleAt"];
}

function deisSampler(schedule: DeisSchedule, options: SamplerOptions): Sampler {
  const { table, space } = schedule;
  const { sigmas, timesteps, initNoiseSigma } = table;
  const parts = (index: number) => mixtureAt(space, sigmas[index]!);

  function update({ call, x, output, state, limit }: UpdateInput<DeisState>): UpdateResult<DeisState> {
    const { denoised, prediction } = schedule.predict(call, output, x, limit);
    const predictions = [prediction, ...state.predictions].slice(0, schedule.order);
    const order = Math.min(predictions.length, schedule.orderLimit(call), 3);
    const from = Array.from({ length: order }, (_, i) => parts(call - i));
    const next = deisUpdate({ from, to: parts(call + 1), predictions: predictions.slice(0, order) }, x);
    return { x: next, denoised, state: { predictions } };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: { predictions: [] },
    bounds: schedule.bounds,
    mixtureAt: parts,
    ...(schedule.inputScaleAt && { inputScaleAt: schedule.inputScaleAt }),
  });
}

function readPredict(reader: ConfigReader, space: SolverSpace, sigmas: Float32Array): DpmPredict {
  const kinds = ["epsilon", "sample", "v_prediction", "flow_prediction"] as const;
  const kind = reader.choice("prediction_type", kinds, "epsilon");
  return (call, output, x, limit) => {
    const parts = mixtureAt(space, sigmas[call]!);
    // The flow prediction is defined by σ itself, also where the samples are not flow samples.
    const used = kind === "flow_prediction" ? { ...parts, noise: sigmas[call]! } : parts;
    const data = predictData(kind, used, output, x);
    const denoised = limit(data);
    return { denoised, prediction: noiseOf(parts, denoised, x) };
  };
}

/** How far back a step may look: the last two less, where the config asks for it and there are few. */
function readOrderLimit(reader: ConfigReader, steps: number): (call: number) => number {
  const lowers = reader.flag("lower_order_final", true) && steps < 15;
  return (call) => (lowers ? Math.max(1, steps - call) : Number.POSITIVE_INFINITY);
}

/**
 * DEIS in its log-ρ form: the noise prediction, extrapolated as a polynomial in ln(noise/signal). Source:
 * https://arxiv.org/abs/2204.13902; huggingface/diffusers@58eb52c schedulers/scheduling_deis_multistep.py.
 */
function fromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  const reader = new ConfigReader(config, className);
  const table = deisTable(reader, options, readAlphas(reader, { ...ddpmBetas, rescalable: false }));
  const space = reader.flag("use_flow_sigmas", false) ? "flow" : "vp";
  const schedule: DeisSchedule = {
    ...{ space, table: { ...table, initNoiseSigma: 1 }, order: reader.integer("solver_order", 2, 1) },
    orderLimit: readOrderLimit(reader, table.timesteps.length),
    predict: readPredict(reader, space, table.sigmas),
    bounds: readThresholding(reader, options),
  };
  return deisSampler(schedule, options);
}

/** DEIS of second order on samples data + σ·noise; the step to 0 is of first order. */
function overModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas } = model;
  requireFalling(sigmas, className);
  const schedule: DeisSchedule = {
    ...{ space: "ve", table: model, order: 2 },
    orderLimit: (call) => (sigmas[call + 1] === 0 ? 1 : 2),
    predict(call, output, x) {
      const denoised = denoise(model.precondition(sigmas[call]!), output, x);
      return { denoised, prediction: noiseOf({ signal: 1, noise: sigmas[call]! }, denoised, x) };
    },
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
  };
  return deisSampler(schedule, options);
}

/** `deis`: DEISMultistepScheduler. */
export const deis: SamplerDefinition = { name: "deis", className, fromConfig, overModel };
