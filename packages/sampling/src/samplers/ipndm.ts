import { denoise } from "../arithmetic/preconditioning";
import { add, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { linspaceFloat32 } from "../schedule/ranges";
import type { SigmaModel } from "../schedule/sigma-model";
import { adamsBashforth } from "../solvers/adams-bashforth";
import { slopeAt } from "../solvers/two-stage";

const className = "IPNDMScheduler";
const round = Math.fround;
/** Slopes that a step looks back at. */
const ORDER = 4;

/** Slopes so far, newest first. */
interface IpndmState {
  slopes: readonly Values[];
}

/** Parts of the sample before each call, and after the last one. */
function readLevels(reader: ConfigReader, steps: number): { signals: Float32Array; noises: Float32Array } {
  const ramp = Float32Array.from([...linspaceFloat32(1, 0, steps + 1).subarray(0, -1), 0]);
  const trained = reader.optionalNumbers("trained_betas");
  const noises = trained ? Float32Array.from(trained) : ramp.map((at) => round(Math.sin(round(at * Math.PI) / 2)) ** 2);
  return { noises, signals: noises.map((noise) => Math.sqrt(round(1 - round(noise * noise)))) };
}

/**
 * Improved PNDM on its own schedule: fourth-order Adams–Bashforth without a warm-up. The network predicts the velocity, and is told
 * the angle between signal and noise, in 0…1. Source: huggingface/diffusers@58eb52c schedulers/scheduling_ipndm.py.
 */
function ipndmFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  refuseOptions(options, className, ["sigmas", "timesteps"]);
  const reader = new ConfigReader(config, className);
  const { signals, noises } = readLevels(
    reader,
    stepCount(options, (count) => count),
  );
  const timesteps = Array.from(noises.subarray(0, -1), (noise, i) =>
    round(round(round(Math.atan2(noise, signals[i]!)) / round(Math.PI)) * 2),
  );

  function update({ call, x, output, state }: UpdateInput<IpndmState>): UpdateResult<IpndmState> {
    const [signal, noise] = [signals[call]!, noises[call]!];
    const epsilon = add(mul(x, noise), mul(output, signal));
    const slopes = [epsilon, ...state.slopes].slice(0, ORDER);
    const mean = adamsBashforth(slopes);
    // The first sample is noise alone: its signal is 0, and the reference divides by this instead.
    const data = div(sub(x, mul(noise, mean)), Math.max(signal, 1e-8));
    const next = add(mul(signals[call + 1]!, data), mul(mean, noises[call + 1]!));
    const denoised = sub(mul(signal, x), mul(noise, output));
    return { x: next, denoised, state: { slopes } };
  }

  return makeSampler({
    ...{ className, timesteps, update, initNoiseSigma: 1 },
    sigmas: noises.map((noise, i) => noise / signals[i]!),
    dtype: options.dtype ?? "float32",
    initialState: { slopes: [] },
    mixtureAt: (call) => ({ signal: signals[call]!, noise: noises[call]! }),
  });
}

/** Improved PNDM on samples data + σ·noise, where the slope takes the place of the noise. */
function ipndmOverModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;

  function update({ call, x, output, state }: UpdateInput<IpndmState>): UpdateResult<IpndmState> {
    const denoised = denoise(model.precondition(sigmas[call]!), output, x);
    const slopes = [slopeAt(sigmas[call]!, x, denoised), ...state.slopes].slice(0, ORDER);
    const moved = mul(adamsBashforth(slopes), round(sigmas[call + 1]! - sigmas[call]!));
    return { x: add(x, moved), denoised, state: { slopes } };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: { slopes: [] },
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
  });
}

/** `ipndm`: IPNDMScheduler. */
export const ipndm: SamplerDefinition = {
  name: "ipndm",
  className,
  fromConfig: ipndmFromConfig,
  overModel: ipndmOverModel,
};
