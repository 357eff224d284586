import { denoise } from "../arithmetic/preconditioning";
import { add, cast, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { flowHeunTable } from "../schedule/flow-model";
import { perCall } from "../schedule/ranges";
import type { SigmaModel } from "../schedule/sigma-model";
import { mixtureAt } from "../solvers/solver-space";
import { slopeAt } from "../solvers/two-stage";

const className = "FlowMatchHeunDiscreteScheduler";
const round = Math.fround;

/** What the first half of a step leaves for the second; nothing between steps. */
interface FlowHeunState {
  half?: { start: Values; velocity: Values };
}

/** Where a call takes the flow sample: by the velocity there, or by the mean with that of the step's first call. */
function heunStep(levels: Float32Array, call: number, sample: Values, velocity: Values, { half }: FlowHeunState) {
  if (half === undefined) {
    const state: FlowHeunState = { half: { start: sample, velocity } };
    return { x: add(sample, mul(velocity, round(levels[call + 1]! - levels[call]!))), state };
  }
  const mean = mul(0.5, add(half.velocity, velocity));
  return { x: add(half.start, mul(mean, round(levels[call]! - levels[call - 1]!))), state: {} };
}

/**
 * Heun's method along the straight paths of flow matching, where the network predicts noise − data; the last step, to 0, is Euler's.
 * Source: huggingface/diffusers@58eb52c schedulers/scheduling_flow_match_heun_discrete.py `step`.
 */
function fromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  refuseOptions(options, className, ["sChurn", "sTmin", "sTmax", "sNoise"]);
  const table = flowHeunTable(new ConfigReader(config, className), options, className);
  const sigmas = Float32Array.from(perCall(Array.from(table.sigmas), true));

  function update({ call, x, output, state }: UpdateInput<FlowHeunState>): UpdateResult<FlowHeunState> {
    const sample = cast(x, "float32");
    const denoised = sub(sample, mul(output, sigmas[call]!));
    return { ...heunStep(sigmas, call, sample, slopeAt(sigmas[call]!, sample, denoised), state), denoised };
  }

  return makeSampler({
    ...{ className, sigmas, update, initNoiseSigma: 1 },
    timesteps: perCall(table.timesteps, false),
    dtype: options.dtype ?? "float32",
    initialState: {},
    stepIndexOf: (call) => call >> 1,
    mixtureAt: (call) => mixtureAt("flow", sigmas[call]!),
  });
}

/** Heun's method along the same paths on samples data + σ·noise, which are flow samples divided by their signal. */
function overModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const sigmas = Float32Array.from(perCall(Array.from(model.sigmas), true));
  const levels = sigmas.map((sigma) => sigma / (1 + sigma));
  const growth = (index: number) => round(1 + sigmas[index]!);

  function update({ call, x, output, state }: UpdateInput<FlowHeunState>): UpdateResult<FlowHeunState> {
    const denoised = denoise(model.precondition(sigmas[call]!), output, x);
    const velocity = sub(slopeAt(sigmas[call]!, x, denoised), denoised);
    const step = heunStep(levels, call, div(x, growth(call)), velocity, state);
    // The second call of a step is made at the level where the step ends.
    return { x: mul(step.x, growth(step.state.half ? call + 1 : call)), denoised, state: step.state };
  }

  return makeSampler({
    ...{ className, sigmas, update, initNoiseSigma: model.initNoiseSigma },
    timesteps: perCall(model.timesteps, false),
    dtype: options.dtype ?? "float32",
    initialState: {},
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    stepIndexOf: (call) => call >> 1,
  });
}

/** `flow_heun`: FlowMatchHeunDiscreteScheduler; two model calls per step but for the last. */
export const flowHeun: SamplerDefinition = { name: "flow_heun", className, fromConfig, overModel };
