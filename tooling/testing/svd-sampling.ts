import type { Sampler, SamplerState } from "@vd/sampling";
import { CpuGenerator } from "@vd/tensor";

/** The scheduler config of Stable Video Diffusion. */
export const svdConfig = {
  _class_name: "EulerDiscreteScheduler",
  beta_end: 0.012,
  beta_schedule: "scaled_linear",
  beta_start: 0.00085,
  final_sigmas_type: "zero",
  interpolation_type: "linear",
  num_train_timesteps: 1000,
  prediction_type: "v_prediction",
  rescale_betas_zero_snr: false,
  sigma_max: 700.0,
  sigma_min: 0.002,
  steps_offset: 1,
  timestep_spacing: "leading",
  timestep_type: "continuous",
  trained_betas: null,
  use_beta_sigmas: false,
  use_exponential_sigmas: false,
  use_karras_sigmas: true,
};

/** Data of a known distribution, every value independent and normal. */
export interface GaussianData {
  mean: number;
  deviation: number;
}

/**
 * What a perfect SVD-like network says about {@link GaussianData}: the v of the best possible denoiser, from the input it
 * gets (x/√(σ² + 1)) and the timestep it is told (0.25·ln σ).
 */
export function perfectVelocity(
  { mean, deviation }: GaussianData,
  input: Float32Array,
  timestep: number,
): Float32Array {
  const sigma = Math.exp(4 * timestep);
  const total = sigma * sigma + 1;
  const variance = deviation * deviation;
  return input.map((value) => {
    const x = value * Math.sqrt(total);
    const denoised = (variance * x + sigma * sigma * mean) / (variance + sigma * sigma);
    return (x / total - denoised) / (sigma / Math.sqrt(total));
  });
}

/** Runs a sampler on {@link perfectVelocity} from unit noise [count] of a seed. */
export function sampleGaussian(sampler: Sampler, data: GaussianData, count: number, seed = 11): Float32Array {
  const generator = new CpuGenerator(seed);
  let x: Float32Array = generator.randn(count).map((value) => value * sampler.initNoiseSigma);
  let state: SamplerState | undefined;
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const input = sampler.scaleModelInput(x, call);
    const modelOutput = perfectVelocity(data, input, sampler.modelTimestep(call));
    const noise = sampler.noiseDrawsAt(call) ? generator.randn(count) : undefined;
    ({ x, state } = sampler.step(call, { x, modelOutput, noise, state }));
  }
  return x;
}

/** Mean and standard deviation. */
export function moments(values: Float32Array): GaussianData {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance) };
}
