import { denoise } from "../arithmetic/preconditioning";
import { add, mul, type Values } from "../arithmetic/values";
import { ConfigReader } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { ddpmBetas } from "../schedule/alphas";
import { requireFalling, type SigmaModel } from "../schedule/sigma-model";
import { type SpacedClass, spacedModel } from "../schedule/spaced-model";
import { slopeAt } from "../solvers/two-stage";

const className = "LMSDiscreteScheduler";
/** Slopes that a step looks back at, the reference's default. */
const ORDER = 4;

const lmsClass: SpacedClass = {
  className,
  betas: { ...ddpmBetas, rescalable: false },
  predictions: ["epsilon", "sample", "v_prediction"],
};

/** Slopes so far, newest first. */
interface LmsState {
  slopes: readonly Values[];
}

/** Abscissa of the two-point Gauss rule, which is exact for the cubic polynomials below. */
const GAUSS = 1 / Math.sqrt(3);

/**
 * Returns what each slope contributes to the step from `nodes[0]` to `end`: the integral of its Lagrange polynomial. nodes: noise
 * levels of the slopes, newest first, at most 4.
 */
export function lmsWeights(nodes: readonly number[], end: number): number[] {
  const [middle, half] = [(nodes[0]! + end) / 2, (end - nodes[0]!) / 2];
  const lagrange = (index: number, at: number) =>
    nodes.reduce((product, node, k) => (k === index ? product : (product * (at - node)) / (nodes[index]! - node)), 1);
  return nodes.map((_, i) => half * (lagrange(i, middle - half * GAUSS) + lagrange(i, middle + half * GAUSS)));
}

/**
 * The linear multistep method: Adams–Bashforth of fourth order over uneven noise levels. The reference begins in the middle of a
 * schedule with weights of slopes that it does not have; here the order grows there too. Source: crowsonkb/k-diffusion@4601bf0
 * `sample_lms`; huggingface/diffusers@58eb52c schedulers/scheduling_lms_discrete.py `step`.
 */
function lmsSampler(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;

  function update({ call, x, output, state }: UpdateInput<LmsState>): UpdateResult<LmsState> {
    const denoised = denoise(model.precondition(sigmas[call]!), output, x);
    const slopes = [slopeAt(sigmas[call]!, x, denoised), ...state.slopes].slice(0, ORDER);
    const nodes = slopes.map((_, i) => sigmas[call - i]!);
    const weights = lmsWeights(nodes, sigmas[call + 1]!);
    const moved = slopes.map((slope, i) => mul(slope, weights[i]!)).reduce(add);
    return { x: add(x, moved), denoised, state: { slopes } };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: { slopes: [] },
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
  });
}

/** `lms`: LMSDiscreteScheduler. */
export const lms: SamplerDefinition = {
  name: "lms",
  className,
  fromConfig: (config, options) =>
    lmsSampler(spacedModel(new ConfigReader(config, className), options, lmsClass), options),
  overModel(model, options) {
    requireFalling(model.sigmas, className);
    return lmsSampler(model, options);
  },
};
