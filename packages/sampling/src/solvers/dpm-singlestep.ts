import type { DataBounds } from "../arithmetic/limiter";
import type { Scale } from "../arithmetic/preconditioning";
import { mul, sub, type Values } from "../arithmetic/values";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import type { SigmaTable } from "../schedule/sigma-model";
import type { DpmPredict } from "./dpm-predict";
import { applyWeights, type DpmAlgorithm, type DpmSolverType, weightsOf } from "./dpm-solver-update";
import { logSnr, mixtureAt, type SolverSpace } from "./solver-space";

const round = Math.fround;

/** Everything that a single-step run fixes. */
export interface SinglestepSchedule {
  className: string;
  table: SigmaTable;
  space: SolverSpace;
  algorithm: DpmAlgorithm;
  type: DpmSolverType;
  /** The order that each call completes: 1 begins a step, 2 and 3 take it again from its start. */
  orders: readonly number[];
  predict: DpmPredict;
  bounds?: DataBounds | undefined;
  inputScaleAt?: (call: number) => Scale;
}

/**
 * Returns the order that each call completes: 1, 2, 3, 1, 2, 3 … for third order, with lower ones at the end where that is asked
 * for. Source: https://arxiv.org/abs/2206.00927, section 3.4 and appendix D.
 */
export function singlestepOrders(of: {
  steps: number;
  order: number;
  lowerOrderFinal: boolean;
  endsInZero: boolean;
}): number[] {
  const { steps, order, lowerOrderFinal, endsInZero } = of;
  const orders = Array.from({ length: steps }, (_, call) => (call % order) + 1);
  // A last step that would be whole gives up its last call, which begins anew.
  if (endsInZero || (lowerOrderFinal && steps % order === 0)) orders[steps - 1] = 1;
  return orders;
}

/** The predictions within a step, newest first, and the sample that it began with. */
interface SinglestepState {
  predictions: readonly Values[];
  start?: Values;
}

/** The last predictions, newest first, as differences from the one at the step's start; `spans` are the gains of λ since then, the
 *  step's own first. */
function differencesOf(predictions: readonly Values[], spans: readonly number[], type: DpmSolverType): Values[] {
  const [m0, m1, m2] = predictions;
  const [h, near, far] = spans;
  if (m1 === undefined) return [m0!];
  const r0 = round(near! / h!);
  if (m2 === undefined) return [m1, mul(round(1 / r0), sub(m0!, m1))];
  const r1 = round(far! / h!);
  const [early, late] = [mul(round(1 / r1), sub(m1, m2)), mul(round(1 / r0), sub(m0!, m2))];
  if (type === "midpoint") return [m2, late];
  const apart = round(r0 - r1);
  const slope = mul(round(1 / apart), sub(mul(r0, early), mul(r1, late)));
  return [m2, slope, mul(round(2 / apart), sub(late, early))];
}

/** Makes a single-step solver: a step of second or third order visits the noise levels inside it, each by a step from its start. */
export function dpmSinglestepSampler(schedule: SinglestepSchedule, options: SamplerOptions): Sampler {
  const { className, table, space, algorithm, type, orders } = schedule;
  const { sigmas, timesteps, initNoiseSigma } = table;
  const parts = (index: number) => mixtureAt(space, sigmas[index]!);
  const keeps = Math.max(...orders);

  function update({
    call,
    x,
    output,
    noise,
    state,
    limit,
  }: UpdateInput<SinglestepState>): UpdateResult<SinglestepState> {
    const { denoised, prediction } = schedule.predict(call, output, x, limit);
    const predictions = [prediction, ...state.predictions].slice(0, keeps);
    // Beginning in the middle of a schedule, there is no step yet that a call could go on with.
    const order = Math.min(orders[call]!, predictions.length);
    const start = order === 1 || state.start === undefined ? x : state.start;
    const used = predictions.slice(0, order);
    const [from, to] = [parts(call - order + 1), parts(call + 1)];
    const sinceStart = (index: number) => round(logSnr(parts(index)) - logSnr(from));
    const spans = used.map((_, i) => sinceStart(call + 1 - i));
    const weights = weightsOf[algorithm]({ from, to, h: spans[0]!, order, type });
    const terms = differencesOf(used, spans, type);
    return { x: applyWeights(weights, start, terms, noise), denoised, state: { predictions, start } };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: { predictions: [] },
    bounds: schedule.bounds,
    noiseAt: () => algorithm.startsWith("sde"),
    mixtureAt: parts,
    ...(schedule.inputScaleAt && { inputScaleAt: schedule.inputScaleAt }),
  });
}
