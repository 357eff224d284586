import { VdError } from "@vd/kernels-native";
import { type DataBounds, readThresholding } from "../arithmetic/limiter";
import type { Scale } from "../arithmetic/preconditioning";
import { predictData, predictNoise } from "../arithmetic/prediction";
import type { Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { ddpmBetas, readAlphas, smallestFloat16, trainingSigmas } from "../schedule/alphas";
import { requireFalling, type SigmaModel, type SigmaTable } from "../schedule/sigma-model";
import { type DpmPredict, predictOverModel } from "../solvers/dpm-predict";
import { mixtureAt, type SolverSpace } from "../solvers/solver-space";
import { unipcTable } from "../solvers/unipc-levels";
import { type UnipcStretch, type UnipcType, unipcCorrect, unipcPredict } from "../solvers/unipc-update";

const className = "UniPCMultistepScheduler";

/** What a step leaves for the corrector of the next. */
interface UnipcState {
  /** Newest first. */
  predictions: readonly Values[];
  /** The (corrected) sample that the last step started from, and the order it had. */
  last?: { x: Values; order: number };
}

/** Everything that a run fixes. */
interface UnipcSchedule {
  table: SigmaTable;
  space: SolverSpace;
  type: UnipcType;
  predictsData: boolean;
  order: number;
  lowerOrderFinal: boolean;
  /** Steps whose result is not corrected. */
  uncorrected: readonly number[];
  predict: DpmPredict;
  bounds?: DataBounds | undefined;
  inputScaleAt?: (call: number) => Scale;
}

/** Predictor-corrector steps: every call first corrects the sample it got, then predicts the next. */
function unipcSampler(schedule: UnipcSchedule, options: SamplerOptions): Sampler {
  const { table, type, predictsData } = schedule;
  const { sigmas, timesteps, initNoiseSigma } = table;
  const parts = (index: number) => mixtureAt(schedule.space, sigmas[index]!);

  function stretchFrom(call: number, order: number, predictions: readonly Values[]): UnipcStretch {
    const from = Array.from({ length: order }, (_, i) => parts(call - i));
    return { type, predictsData, from, to: parts(call + 1), predictions };
  }

  function orderAt(call: number, history: number): number {
    const limit = schedule.lowerOrderFinal ? Math.min(schedule.order, timesteps.length - call) : schedule.order;
    return Math.min(limit, history);
  }

  function update({ call, x, output, state, limit }: UpdateInput<UnipcState>): UpdateResult<UnipcState> {
    const { denoised, prediction } = schedule.predict(call, output, x, limit);
    const { last } = state;
    const corrected =
      last === undefined || schedule.uncorrected.includes(call - 1)
        ? x
        : unipcCorrect(stretchFrom(call - 1, last.order, state.predictions), last.x, prediction);
    const predictions = [prediction, ...state.predictions].slice(0, schedule.order);
    const order = orderAt(call, predictions.length);
    const next = unipcPredict(stretchFrom(call, order, predictions), corrected);
    return { x: next, denoised, state: { predictions, last: { x: corrected, order } } };
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

/** The prediction that the solver works on, from the config. */
function readPredict(
  reader: ConfigReader,
  table: Pick<SigmaTable, "sigmas">,
  space: SolverSpace,
  predictsData: boolean,
): DpmPredict {
  const kinds = ["epsilon", "sample", "v_prediction", "flow_prediction"] as const;
  const kind = reader.choice("prediction_type", kinds, "epsilon");
  if (kind === "flow_prediction" && !predictsData) {
    const where = `${className}.prediction_type`;
    throw new VdError({ code: "attr", where, expected: "predict_x0 with flow_prediction", got: "predict_x0: false" });
  }
  return (call, output, x, limit) => {
    const parts = mixtureAt(space, table.sigmas[call]!);
    // The flow prediction is defined by σ itself, also where the samples are not flow samples.
    const used = kind === "flow_prediction" ? { ...parts, noise: table.sigmas[call]! } : parts;
    const data = predictData(kind, used, output, x);
    if (!predictsData) return { denoised: data, prediction: predictNoise(kind, parts, output, x) };
    const denoised = limit(data);
    return { denoised, prediction: denoised };
  };
}

function readType(reader: ConfigReader): UnipcType {
  return reader.choice("solver_type", ["bh1", "bh2", "midpoint", "heun", "logrho"], "bh2") === "bh1" ? "bh1" : "bh2";
}

/**
 * Source: huggingface/diffusers@58eb52c schedulers/scheduling_unipc_multistep.py.
 *
 * @throws VdError `attr`, `unsupported`
 */
function unipcFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  const reader = new ConfigReader(config, className);
  reader.refuse("solver_p", "A predictor that is another scheduler cannot be written in a config file.");
  const trained = trainingSigmas(readAlphas(reader, { ...ddpmBetas, zeroSnrFloor: smallestFloat16 }));
  const table = unipcTable(reader, options, trained);
  const space = reader.flag("use_flow_sigmas", false) ? "flow" : "vp";
  const predictsData = reader.flag("predict_x0", true);
  return unipcSampler(
    {
      ...{ space, predictsData, type: readType(reader) },
      table: { ...table, initNoiseSigma: 1 },
      order: reader.integer("solver_order", 2, 1),
      lowerOrderFinal: reader.flag("lower_order_final", true),
      uncorrected: reader.optionalNumbers("disable_corrector") ?? [],
      predict: readPredict(reader, table, space, predictsData),
      // The reference bounds the data where they are what it extrapolates.
      bounds: predictsData ? readThresholding(reader, options) : undefined,
    },
    options,
  );
}

/** UniPC of second order (bh2, data prediction) on samples data + σ·noise; the last step is of first order. */
function unipcOverModel(model: SigmaModel, options: SamplerOptions): Sampler {
  requireFalling(model.sigmas, className);
  return unipcSampler(
    {
      ...{ table: model, space: "ve", type: "bh2", predictsData: true, order: 2 },
      ...{ lowerOrderFinal: true, uncorrected: [] },
      ...predictOverModel(model),
    },
    options,
  );
}

/** `unipc`: UniPCMultistepScheduler. */
export const unipc: SamplerDefinition = {
  name: "unipc",
  className,
  fromConfig: unipcFromConfig,
  overModel: unipcOverModel,
};
