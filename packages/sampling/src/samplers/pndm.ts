import { denoise } from "../arithmetic/preconditioning";
import { predictData } from "../arithmetic/prediction";
import { add, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { ddpmBetas, readAlphas } from "../schedule/alphas";
import { multistepCalls, type PndmCall, rungeKuttaCalls } from "../schedule/pndm-calls";
import type { SigmaModel } from "../schedule/sigma-model";
import { checkedTimesteps, integerTimesteps, readTimestepSpacing } from "../schedule/timesteps";
import { adamsBashforth } from "../solvers/adams-bashforth";
import { slopeAt } from "../solvers/two-stage";
import { mixtureOf, sigmasOf } from "./lcm";

const className = "PNDMScheduler";
const round = Math.fround;
const root = (value: number) => round(Math.sqrt(value));
/** Slopes that a step looks back at. */
const ORDER = 4;

/** What calls hand on. */
interface PndmState {
  /** Outputs at the beginnings of steps, newest first. */
  slopes: readonly Values[];
  /** The sample that the step under way began with. */
  start?: Values | undefined;
  /** The weighted outputs of a Runge–Kutta step so far. */
  sum?: Values;
}

/** The output that a call steps by, and what it leaves to the next one. */
function combine(kind: PndmCall["kind"], output: Values, x: Values, state: PndmState): [Values, PndmState] {
  const { slopes, start, sum } = state;
  if (kind === "correct") return [div(add(output, slopes[0]!), 2), { slopes }];
  if (kind === "multistep") {
    const next = [output, ...slopes].slice(0, ORDER);
    return [adamsBashforth(next), { slopes: next, start: slopes.length === 0 ? x : undefined }];
  }
  if (kind === 0) return [output, { slopes: [output, ...slopes].slice(0, ORDER), start: x, sum: mul(output, 1 / 6) }];
  if (kind === 3) return [add(sum!, mul(output, 1 / 6)), { slopes }];
  return [output, { slopes, start, sum: add(sum!, mul(output, 1 / 3)) }];
}

/** Goes from one ᾱ to another along a predicted noise. Source: https://arxiv.org/abs/2202.09778, equation 11. */
function transfer(x: Values, epsilon: Values, from: number, to: number): Values {
  const scale = root(round(to / from));
  const denominator = round(round(from * root(1 - to)) + root(round(round(from * round(1 - from)) * to)));
  return sub(mul(scale, x), div(mul(round(to - from), epsilon), denominator));
}

function callsOf(reader: ConfigReader, options: SamplerOptions, trained: number): PndmCall[] {
  const steps = stepCount(options, (count) => count);
  const offset = reader.integer("steps_offset", 0, 0);
  const spacing = readTimestepSpacing(reader, "leading");
  const timesteps = checkedTimesteps(integerTimesteps({ spacing, steps, trained, offset }), trained);
  const request = { timesteps, stride: Math.floor(trained / steps) };
  return reader.flag("skip_prk_steps", false) ? multistepCalls(request) : rungeKuttaCalls(request);
}

/**
 * Pseudo linear multistep sampling: fourth-order Adams–Bashforth along DDIM's transfer, after three Runge–Kutta steps or, with
 * `skip_prk_steps`, one corrected step. Source: https://arxiv.org/abs/2202.09778; huggingface/diffusers@58eb52c
 * schedulers/scheduling_pndm.py `step`.
 */
function fromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  refuseOptions(options, className, ["sigmas", "timesteps"]);
  const reader = new ConfigReader(config, className);
  const alphas = readAlphas(reader, { ...ddpmBetas, rescalable: false });
  const final = reader.flag("set_alpha_to_one", false) ? 1 : alphas[0]!;
  const alphaAt = (timestep: number) => (timestep >= 0 ? alphas[timestep]! : final);
  const calls = callsOf(reader, options, alphas.length);
  const kind = reader.choice("prediction_type", ["epsilon", "v_prediction"], "epsilon");
  const mixtures = calls.map(({ timestep }) => mixtureOf(alphas[timestep]!));

  function update({ call, x, output, state }: UpdateInput<PndmState>): UpdateResult<PndmState> {
    const at = calls[call]!;
    const [combined, next] = combine(at.kind, output, x, state);
    const begins = at.kind === "multistep" || at.kind === 0;
    const start = begins ? x : state.start!;
    const [from, to] = [alphaAt(at.from), alphaAt(at.to)];
    const { signal, noise } = mixtureOf(from);
    const epsilon = kind === "epsilon" ? combined : add(mul(signal, combined), mul(noise, start));
    const denoised = predictData(kind, mixtures[call]!, output, x);
    return { x: transfer(start, epsilon, from, to), denoised, state: next };
  }

  return makeSampler({
    ...{ className, update, initNoiseSigma: 1 },
    sigmas: sigmasOf(mixtures),
    timesteps: calls.map(({ timestep }) => timestep),
    dtype: options.dtype ?? "float32",
    initialState: { slopes: [] },
    stepIndexOf: (call) => calls[call]!.step,
    mixtureAt: (call) => mixtures[call]!,
  });
}

/** The same method on samples data + σ·noise, with one corrected step before the multistep ones. */
function overModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, initNoiseSigma } = model;
  // Indices of noise levels take the place of timesteps.
  const indices = model.timesteps.map((_, index) => index);
  const calls = multistepCalls({ timesteps: indices, stride: -1 });
  const levelAt = (call: number) => sigmas[calls[call]!.timestep]!;

  function update({ call, x, output, state }: UpdateInput<PndmState>): UpdateResult<PndmState> {
    const at = calls[call]!;
    const denoised = denoise(model.precondition(levelAt(call)), output, x);
    const [combined, next] = combine(at.kind, slopeAt(levelAt(call), x, denoised), x, state);
    const start = at.kind === "correct" ? state.start! : x;
    const moved = mul(combined, round(sigmas[at.to]! - sigmas[at.from]!));
    return { x: add(start, moved), denoised, state: next };
  }

  return makeSampler({
    ...{ className, update, initNoiseSigma },
    sigmas: Float32Array.from([...calls.map((_, call) => levelAt(call)), sigmas[indices.length]!]),
    timesteps: calls.map(({ timestep }) => model.timesteps[timestep]!),
    dtype: options.dtype ?? "float32",
    initialState: { slopes: [] },
    inputScaleAt: (call) => model.precondition(levelAt(call)).input,
    stepIndexOf: (call) => calls[call]!.step,
  });
}

/** `pndm`: PNDMScheduler. */
export const pndm: SamplerDefinition = { name: "pndm", className, fromConfig, overModel };
