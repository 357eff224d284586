import { createSampler, type LatentDtype, type Sampler, type SamplerOptions, type SamplerState } from "@vd/sampling";
import { roundToBfloat16, roundToFloat16 } from "@vd/tensor";
import { exact } from "../compare";
import type { Fixture, GoldenKind, TensorCheck } from "../kind";

/** The JSON's description of one case. */
interface SchedulerCase {
  class: string;
  config: Record<string, unknown>;
  steps: number;
  /** Arguments of the step; infinity is spelled `inf`. */
  step_args?: Record<string, number | boolean | string>;
  dtype: LatentDtype;
  /** `t`, or `t` over a number. */
  t_normalised: string;
  noise_drawn_at_call: number[];
  timesteps_dtype: string;
  custom_sigmas?: number[];
  custom_timesteps?: number[];
  finite?: boolean;
  /** Further arguments of set_timesteps. */
  mu?: number;
  original_inference_steps?: number;
  strength?: number;
  /** The step to begin with, from half of `in.x` with the last noise on it. */
  begin_step?: number;
  /** False where the class cannot add noise, and the sum of both is what the run begins with. */
  adds_noise?: boolean;
}

/** The stand-in for a network: tanh(a·input + b·t). */
interface StandIn {
  a: number;
  b: number;
}

/** One case with everything needed to run it. */
interface Run {
  fixture: Fixture;
  prefix: string;
  case: SchedulerCase;
  sampler: Sampler;
  standIn: StandIn;
  /** Golden samples before each call and at the end, and the golden outputs. */
  x: Float32Array[];
  outputs: Float32Array[];
  /** Noise of the n-th draw. */
  draws: Float32Array[];
}

const relativeTolerance = 2e-6;
const optionNames: Readonly<Record<string, keyof SamplerOptions>> = {
  s_churn: "sChurn",
  s_tmin: "sTmin",
  s_tmax: "sTmax",
  s_noise: "sNoise",
  eta: "eta",
  use_clipped_model_output: "useClippedModelOutput",
};

function optionsOf(scheduler: SchedulerCase): SamplerOptions {
  const { custom_sigmas: sigmas, custom_timesteps: timesteps, dtype, mu, strength } = scheduler;
  const options: Record<string, unknown> = { dtype, sigmas, timesteps, mu, strength };
  options.originalSteps = scheduler.original_inference_steps;
  if (sigmas === undefined && timesteps === undefined) options.steps = scheduler.steps;
  for (const [name, value] of Object.entries(scheduler.step_args ?? {})) {
    const option = optionNames[name];
    if (option === undefined) throw new Error(`step argument ${name} is not known to the schedulers kind`);
    options[option] = value === "inf" ? Number.POSITIVE_INFINITY : value;
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function slices(values: Float32Array, count: number): Float32Array[] {
  const length = values.length / count;
  return Array.from({ length: count }, (_, i) => values.slice(i * length, (i + 1) * length));
}

function slicesOf(fixture: Fixture, name: string): Float32Array[] {
  return slices(fixture.float32(name), fixture.shape(name)[0]!);
}

/** The largest finite magnitude. */
function maxMagnitude(values: ArrayLike<number>): number {
  let max = 0;
  for (let i = 0; i < values.length; i++) {
    const magnitude = Math.abs(values[i]!);
    if (magnitude > max && magnitude < Number.POSITIVE_INFINITY) max = magnitude;
  }
  return max;
}

/** The distance to the next float of a type with so many mantissa bits, at the size of `value`. */
function unitInLastPlace(value: number, mantissaBits: number, minExponent: number): number {
  const exponent = value === 0 ? minExponent : Math.max(Math.floor(Math.log2(Math.abs(value))), minExponent);
  return 2 ** (exponent - mantissaBits);
}

function ulpOf(dtype: LatentDtype): (value: number) => number {
  return dtype === "float16" ? (value) => unitInLastPlace(value, 10, -14) : (value) => unitInLastPlace(value, 7, -126);
}

function difference(ours: ArrayLike<number>, golden: ArrayLike<number>, scale: (i: number) => number): number {
  if (ours.length !== golden.length) return Number.NaN;
  let worst = 0;
  for (let i = 0; i < golden.length; i++) {
    // A golden that overflowed asks for the same overflow.
    if (Object.is(ours[i], golden[i])) continue;
    const error = Math.abs(ours[i]! - golden[i]!) / scale(i);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

function check(name: string, error: number, tolerance: number, note?: string): TensorCheck {
  const result: TensorCheck = { name, metric: "maxabs", error, tolerance, ok: error <= tolerance };
  return note === undefined ? result : { ...result, note };
}

/** The largest error relative to each golden element. */
function relative(name: string, ours: ArrayLike<number>, golden: ArrayLike<number>): TensorCheck {
  const error = difference(ours, golden, (i) => Math.abs(golden[i]!) || 1);
  return check(name, error, relativeTolerance, "relative to each element");
}

function timestepCheck(name: string, ours: readonly number[], golden: Float64Array, integers: boolean): TensorCheck {
  if (integers) return exact(name, ours, golden);
  const error = difference(ours, golden, (i) => Math.max(1, (relativeTolerance / 1e-5) * Math.abs(golden[i]!)));
  return check(name, error, 1e-5);
}

/** Zero terminal SNR begins at σ = 4096, where float32 itself loses more. */
function isZeroSnr({ config }: SchedulerCase): boolean {
  return config.rescale_betas_zero_snr === true;
}

/** Compares a sample or an output with its golden, at the tolerance of its type. */
function compareValues(run: Run, name: string, ours: Float32Array, golden: Float32Array, note: string): TensorCheck {
  const { dtype } = run.case;
  if (dtype !== "float32") {
    const ulp = ulpOf(dtype);
    return check(
      name,
      difference(ours, golden, (i) => ulp(golden[i]!)),
      2,
      `${note}, in units of the last place`,
    );
  }
  const factor = isZeroSnr(run.case) ? 5e-5 : 1e-5;
  const tolerance = factor * maxMagnitude(golden) + 1e-7 * maxMagnitude(run.x[0]!);
  return check(
    name,
    difference(ours, golden, () => 1),
    tolerance,
    note,
  );
}

function standInOutput(run: Run, x: Float32Array, call: number): Float32Array {
  const { a, b } = run.standIn;
  const round = Math.fround;
  const divisor = Number(run.case.t_normalised.split("/")[1] ?? 1);
  const shift = round(round(b) * round(run.sampler.modelTimestep(call) / divisor));
  const output = run.sampler.scaleModelInput(x, call).map((value) => Math.tanh(round(round(round(a) * value) + shift)));
  const { dtype } = run.case;
  if (dtype === "float32") return output;
  return output.map(dtype === "float16" ? roundToFloat16 : roundToBfloat16);
}

function noiseAt(run: Run, call: number): Float32Array | undefined {
  const draw = run.case.noise_drawn_at_call.indexOf(call);
  if (draw < 0) return undefined;
  const noise = run.draws[draw]!;
  if (run.sampler.noiseDtype === "float32") return noise;
  return noise.map(run.sampler.noiseDtype === "float16" ? roundToFloat16 : roundToBfloat16);
}

function* tableChecks(run: Run): Generator<TensorCheck> {
  const { fixture, prefix, sampler, case: scheduler } = run;
  const named = (part: string) => `${prefix}.${part}`;
  if (fixture.has(named("sigmas"))) {
    yield relative(named("sigmas"), sampler.sigmas, fixture.float64(named("sigmas")));
  }
  const timesteps = fixture.float64(named("timesteps"));
  yield timestepCheck(named("timesteps"), sampler.timesteps, timesteps, scheduler.timesteps_dtype.includes("int"));
  const initial = named("init_noise_sigma");
  if (fixture.has(initial)) yield relative(initial, [sampler.initNoiseSigma], fixture.float64(initial));
  const drawn = sampler.timesteps.flatMap((_, call) => (sampler.noiseDrawsAt(call) ? [call] : []));
  yield exact(named("noise_drawn_at_call"), drawn, scheduler.noise_drawn_at_call);
}

/** Each call on its own, from the golden sample and output; the memory of multistep samplers builds up from goldens. */
function* singleSteps(run: Run): Generator<TensorCheck> {
  const { sampler, prefix, x, outputs } = run;
  let state: SamplerState | undefined;
  for (let call = 0; call < outputs.length; call++) {
    const output = standInOutput(run, x[call]!, call);
    yield compareValues(run, `${prefix}.model_out[${call}]`, output, outputs[call]!, "from the golden sample");
    const input = { x: x[call]!, modelOutput: outputs[call]!, noise: noiseAt(run, call), state };
    const result = sampler.step(call, input);
    state = result.state;
    yield compareValues(run, `${prefix}.x[${call + 1}]`, result.x, x[call + 1]!, "one step from the golden sample");
  }
}

/** Unit noise at the first level, or clean latents with noise on them where the run begins in the middle. */
function firstSample({ sampler, draws, case: scheduler }: Run, given: Float32Array): Float32Array {
  const start = Math.fround(sampler.initNoiseSigma);
  if (scheduler.begin_step === undefined) return given.map((value) => value * start);
  const [clean, noise] = [given.map((value) => value / 2), draws.at(-1)!];
  return scheduler.adds_noise === false ? clean.map((value, i) => value + noise[i]!) : sampler.addNoise(clean, noise);
}

/** The whole trajectory from unit noise, on our own samples and outputs. */
function* trajectory(run: Run): Generator<TensorCheck> {
  const { sampler, prefix, fixture } = run;
  let x = firstSample(run, fixture.float32("in.x"));
  let state: SamplerState | undefined;
  for (let call = 0; call < run.outputs.length; call++) {
    yield compareValues(run, `${prefix}.x[${call}]`, x, run.x[call]!, "running trajectory");
    const modelOutput = standInOutput(run, x, call);
    ({ x, state } = sampler.step(call, { x, modelOutput, noise: noiseAt(run, call), state }));
  }
  yield compareValues(run, `${prefix}.x[${run.outputs.length}]`, x, run.x.at(-1)!, "running trajectory");
}

function* caseChecks(fixture: Fixture, name: string, scheduler: SchedulerCase): Generator<TensorCheck> {
  const prefix = `out.${name}`;
  const options = { ...optionsOf(scheduler), batch: fixture.shape("in.x")[0]! };
  const whole = createSampler({ ...scheduler.config, _class_name: scheduler.class }, options);
  const sampler = scheduler.begin_step === undefined ? whole : whole.startingAt(scheduler.begin_step);
  const run: Run = {
    ...{ fixture, prefix, sampler, case: scheduler },
    standIn: fixture.json.model,
    x: slicesOf(fixture, `${prefix}.x`),
    outputs: slicesOf(fixture, `${prefix}.model_out`),
    draws: fixture.has("in.noise") ? slicesOf(fixture, "in.noise") : [],
  };
  yield* tableChecks(run);
  yield exact(`${prefix}.model_out`, [sampler.numModelCalls], [run.outputs.length]);
  yield* singleSteps(run);
  // In 16 bits one different rounding early on moves everything after it: single steps decide there.
  if (scheduler.dtype === "float32") yield* trajectory(run);
}

/**
 * Sampler tables, single steps and whole trajectories, of every case in `json.cases`. The work is done in TypeScript on
 * every device, and each case has its own dtype.
 */
export const schedulersKind: GoldenKind = {
  kind: "schedulers",
  async *run(fixture) {
    const cases: Record<string, SchedulerCase> = fixture.json.cases;
    for (const [name, scheduler] of Object.entries(cases)) yield* caseChecks(fixture, name, scheduler);
  },
};
