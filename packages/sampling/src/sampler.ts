import { COUNT, requireArgument, VdError } from "@vd/kernels-native";
import { type DataBounds, type Limiter, limiterOf } from "./arithmetic/limiter";
import { applyScale, type Scale, scaleFactor, unscaled } from "./arithmetic/preconditioning";
import type { Mixture } from "./arithmetic/prediction";
import { add, cast, type LatentDtype, mul, type Values } from "./arithmetic/values";

declare const stateBrand: unique symbol;

/** What a multistep sampler remembers between calls. Opaque: hand the one that a step returned to the next step. */
export interface SamplerState {
  readonly [stateBrand]: true;
}

/** What a step starts from. The arrays have the latents' shape, flat, and values that the sampler's dtype can hold. */
export interface StepInput {
  /** The sample before the model call. */
  x: Float32Array;
  /** What the model said (after guidance). */
  modelOutput: Float32Array;
  /** Unit noise in `noiseDtype`; needed where `noiseDrawsAt(call)`. */
  noise?: Float32Array | undefined;
  /** What the step before returned; undefined at the first call. */
  state?: SamplerState | undefined;
  /** Takes the place of what keeps the data prediction within the sampler's `bounds`: it is given the prediction and returns
   *  what the step goes on with. */
  limit?: ((data: Float32Array) => Float32Array) | undefined;
}

/** What a step leads to. */
export interface StepResult {
  /** The sample before the next model call; after the last call, the result. */
  x: Float32Array;
  /** The prediction of the clean latents on the way, for previews. */
  denoised: Float32Array;
  state: SamplerState;
}

/**
 * A sampler over a fixed table of noise levels. Nothing in it changes after it is made: the same call with the same
 * input gives the same bits.
 */
export interface Sampler {
  /** The diffusers class whose update rule this is. */
  readonly className: string;
  readonly dtype: LatentDtype;
  /**
   * Noise level before each call, then the last one. [numModelCalls + 1]; `log_linear` interpolation has one more, which
   * its reference appends and never reaches.
   */
  readonly sigmas: Float32Array;
  /** What the model gets told at each call: integers or fractions, as the class has them. [numModelCalls] */
  readonly timesteps: readonly number[];
  /** Unit noise times this is the first sample. */
  readonly initNoiseSigma: number;
  readonly numModelCalls: number;
  readonly numSteps: number;
  /** The type in which the reference draws noise for a step. */
  readonly noiseDtype: LatentDtype;
  /** How each step keeps its data prediction within bounds; undefined where it does not. */
  readonly bounds: DataBounds | undefined;
  /** The model's timestep at a call. */
  modelTimestep(call: number): number;
  /** The step, from 0, that a call belongs to; Heun makes two calls per step, but for the last. */
  stepIndexOf(call: number): number;
  /** True where the step of this call needs noise. */
  noiseDrawsAt(call: number): boolean;
  /** The factor between sample and model input. */
  inputScale(call: number): number;
  /** The model input for a sample, rounded as the reference rounds it. */
  scaleModelInput(x: Float32Array, call: number): Float32Array;
  /** Goes from the sample before a call to the one after it. Throws `shape` or `attr` for what does not fit. */
  step(call: number, input: StepInput): StepResult;
  /**
   * Returns clean latents with unit noise on them, as a sample before a call: what {@link startingAt} begins with.
   *
   * @throws VdError `shape` for noise of another length, `attr` for a call that there is not
   */
  addNoise(clean: Float32Array, noise: Float32Array, call?: number): Float32Array;
  /**
   * Returns the steps from `step` on as a sampler of their own, which remembers nothing of the ones before: for latents that
   * are already there, given noise by {@link addNoise}. Its `initNoiseSigma` is the noise in its first sample.
   *
   * @throws VdError `attr` for a step that there is not
   * @example
   * ```ts
   * import { createSampler, startStep } from "@vd/sampling";
   *
   * const whole = createSampler({ _class_name: "EulerDiscreteScheduler" }, { name: "dpmpp_2m", steps: 25 });
   * const sampler = whole.startingAt(startStep(whole.numSteps, 0.6));
   * const [clean, noise] = [new Float32Array(16), new Float32Array(16).fill(1)];
   * console.log(sampler.numSteps, sampler.addNoise(clean, noise));
   * ```
   */
  startingAt(step: number): Sampler;
}

/** One call as an update rule sees it. */
export interface UpdateInput<State> {
  call: number;
  x: Values;
  output: Values;
  /** Empty where `noiseAt` is false. */
  noise: Values;
  state: State;
  /** Keeps the data prediction within `bounds`; an update rule that has them calls it once. */
  limit: Limiter;
}

/** What an update rule gives back; `x` is rounded to the sampler's dtype afterwards. */
export interface UpdateResult<State> {
  x: Values;
  denoised: Values;
  state: State;
}

/** What makes a sampler out of an update rule. */
export interface SamplerParts<State> {
  className: string;
  dtype: LatentDtype;
  sigmas: Float32Array;
  timesteps: readonly number[];
  initNoiseSigma: number;
  /** null for an update rule that remembers nothing. */
  initialState: State;
  update(input: UpdateInput<State>): UpdateResult<State>;
  /** Default: none. */
  bounds?: DataBounds | undefined;
  /** Default: the model gets the sample as it is. */
  inputScaleAt?(call: number): Scale;
  /** Default: never. */
  noiseAt?(call: number): boolean;
  /** Default: the sampler's dtype. */
  noiseDtype?: LatentDtype;
  /** Default: one call per step. */
  stepIndexOf?(call: number): number;
  /** The parts of the sample before a call. Default: data + σ·noise. */
  mixtureAt?(call: number): Mixture;
}

function checkLength(name: string, got: number, expected: number): void {
  if (got === expected) return;
  throw new VdError({ code: "shape", where: `step ${name}`, expected: `${expected} values, as x has`, got: `${got}` });
}

function checkStepInput<State>(parts: SamplerParts<State>, call: number, input: StepInput, needsNoise: boolean): void {
  checkLength("modelOutput", input.modelOutput.length, input.x.length);
  if (needsNoise) checkLength("noise", input.noise?.length ?? 0, input.x.length);
  if (call > 0 && parts.initialState !== null && input.state === undefined) {
    const where = `${parts.className} call ${call}`;
    throw new VdError({ code: "attr", where, expected: "the state that the call before returned", got: "none" });
  }
}

/** The parts of a sampler whose step and mixture are known for each call. */
type WholeParts<State> = SamplerParts<State> & Required<Pick<SamplerParts<State>, "stepIndexOf" | "mixtureAt">>;

/** The parts of the calls from `step` on. */
function partsFrom<State>(parts: WholeParts<State>, step: number): SamplerParts<State> {
  const { timesteps, stepIndexOf, mixtureAt, inputScaleAt, noiseAt } = parts;
  const first = timesteps.findIndex((_, call) => stepIndexOf(call) === step);
  if (first < 0) {
    const expected = `a step in 0…${stepIndexOf(timesteps.length - 1)}`;
    throw new VdError({ code: "attr", where: `${parts.className} startingAt`, expected, got: String(step) });
  }
  return {
    ...parts,
    sigmas: parts.sigmas.subarray(first),
    timesteps: timesteps.slice(first),
    initNoiseSigma: first === 0 ? parts.initNoiseSigma : mixtureAt(first).noise,
    update: (input) => parts.update({ ...input, call: input.call + first }),
    stepIndexOf: (call) => stepIndexOf(call + first) - step,
    mixtureAt: (call) => mixtureAt(call + first),
    ...(inputScaleAt && { inputScaleAt: (call: number) => inputScaleAt(call + first) }),
    ...(noiseAt && { noiseAt: (call: number) => noiseAt(call + first) }),
  };
}

/**
 * Returns the step to start at when only the last part of a schedule is to be taken: 1 for all of it, 0.25 for the last
 * quarter, at least one step. Source: huggingface/diffusers@58eb52c
 * pipelines/stable_diffusion/pipeline_stable_diffusion_img2img.py `get_timesteps`.
 *
 * @throws VdError `attr` for a strength outside 0…1, and for what is no number of steps
 */
export function startStep(numSteps: number, strength: number): number {
  if (!(strength >= 0 && strength <= 1))
    throw new VdError({ code: "attr", where: "strength", expected: "a number in 0…1", got: String(strength) });
  requireArgument("startStep numSteps", numSteps, COUNT);
  return numSteps - Math.max(1, Math.min(Math.trunc(numSteps * strength), numSteps));
}

const none = new Float32Array(0);

/** Throws `attr` for a table that has no number somewhere: betas and bounds of a config can be such that there is none. */
function checkTable({ className, sigmas, timesteps }: SamplerParts<unknown>): void {
  for (const [name, values] of [
    ["noise level", sigmas],
    ["timestep", timesteps],
  ] as const) {
    const at = values.findIndex((value: number) => Number.isNaN(value));
    if (at < 0) continue;
    throw new VdError({
      code: "attr",
      where: `${className} ${name} ${at}`,
      expected: "a number",
      got: "NaN",
      hint: "Correct the betas or the bounds of the noise in the model's scheduler_config.json.",
    });
  }
}

/** Makes the public sampler: checks, dtype bookkeeping and defaults around an update rule. */
export function makeSampler<State>(parts: SamplerParts<State>): Sampler {
  const { className, dtype, sigmas, timesteps, initNoiseSigma, bounds } = parts;
  checkTable(parts as SamplerParts<unknown>);
  const ownLimit = limiterOf(bounds);
  const numModelCalls = timesteps.length;
  const noiseDtype = parts.noiseDtype ?? dtype;
  const scaleAt = (call: number): Scale => parts.inputScaleAt?.(check(call)) ?? unscaled;
  const noiseDrawsAt = (call: number) => parts.noiseAt?.(check(call)) ?? false;
  const stepIndexOf = (call: number) => parts.stepIndexOf?.(check(call)) ?? check(call);

  function check(call: number): number {
    if (Number.isInteger(call) && call >= 0 && call < numModelCalls) return call;
    const expected = `a call in 0…${numModelCalls - 1}`;
    throw new VdError({ code: "attr", where: className, expected, got: String(call) });
  }

  function step(call: number, input: StepInput): StepResult {
    const needsNoise = noiseDrawsAt(call);
    checkStepInput(parts, call, input, needsNoise);
    const { limit } = input;
    const result = parts.update({
      call,
      x: { data: input.x, dtype },
      output: { data: input.modelOutput, dtype },
      noise: { data: needsNoise && input.noise ? input.noise : none, dtype: noiseDtype },
      limit: limit ? (data) => ({ ...data, data: limit(data.data) }) : ownLimit,
      state: input.state === undefined ? parts.initialState : (input.state as unknown as State),
    });
    const { data } = cast(result.x, dtype);
    return { x: data, denoised: result.denoised.data, state: result.state as unknown as SamplerState };
  }

  const mixtureAt = (call: number): Mixture =>
    parts.mixtureAt?.(check(call)) ?? { signal: 1, noise: sigmas[check(call)]! };

  function addNoise(clean: Float32Array, noise: Float32Array, call = 0): Float32Array {
    checkLength("noise", noise.length, clean.length);
    const mixture = mixtureAt(call);
    const [data, fresh] = [mul(mixture.signal, { data: clean, dtype }), mul(mixture.noise, { data: noise, dtype })];
    return add(data, fresh).data;
  }

  return {
    ...{ className, dtype, sigmas, timesteps, initNoiseSigma, numModelCalls, noiseDtype, bounds, addNoise },
    startingAt: (step) => makeSampler(partsFrom({ ...parts, stepIndexOf, mixtureAt }, step)),
    numSteps: numModelCalls === 0 ? 0 : stepIndexOf(numModelCalls - 1) + 1,
    modelTimestep: (call) => timesteps[check(call)]!,
    stepIndexOf,
    noiseDrawsAt,
    inputScale: (call) => scaleFactor(scaleAt(call)),
    scaleModelInput: (x, call) => applyScale({ data: x, dtype }, scaleAt(call)).data,
    step,
  };
}
