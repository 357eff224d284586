import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import samplerStep from "./sampler_step.op";

type Case = CaseOf<typeof samplerStep>;
type Size = readonly [frames: number, height: number, width: number, channels: number];

interface Parts {
  rows: 1 | 2;
  numHistory?: number;
  noise?: boolean;
  /** Channels of the picture's latents; default as many as the sample has. 0: no next input. */
  imageChannels?: number;
  denoised?: boolean;
  bounds?: "clip" | "threshold";
  quantile?: number;
  maxValue?: number;
  /** Draws the noise: a seed and engine calls, dealt to so many lanes. */
  philox?: { words: readonly number[]; lanes?: number };
  /** Frames of the latents to blend with, the weight and the threshold. */
  blend?: { frames: number; weight: number; threshold: number };
}

/** Operands of the parts that a step may have. */
function optionalInputs([F, H, W, C]: Size, { rows, numHistory = 0, noise, philox, blend }: Parts) {
  return {
    ...(rows === 2 ? { guidance: [F] } : {}),
    ...(noise ? { noise: [1, F, H, W, C] } : {}),
    ...(philox ? { philox: { dims: [4], dtype: "i32", fill: { values: philox.words } } as const } : {}),
    ...(numHistory > 0 ? { history: [numHistory, F, H, W, C] } : {}),
    ...(blend
      ? {
          previous: [1, blend.frames, H, W, C],
          blend: { dims: [2], fill: { values: [blend.weight, blend.threshold] } },
        }
      : {}),
  };
}

function step(name: string, size: Size, parts: Parts): Case {
  const { rows, numHistory = 0, imageChannels, denoised, bounds, quantile, maxValue, philox, blend } = parts;
  const [F, H, W, C] = size;
  const image = imageChannels ?? C;
  const numData = bounds || blend ? 1 : 0;
  const inputs: Record<string, Operand | readonly number[]> = {
    prediction: [rows, F, H, W, C],
    x: [1, F, H, W, C],
    coefficients: [numHistory + 2 + numData, numHistory + 3 + numData],
    ...optionalInputs(size, parts),
    ...(image > 0 ? { image: [1, 1, H, W, image], inputScale: [1] } : {}),
  };
  const also: ("denoised" | "nextHistory" | "input")[] = [];
  if (denoised) also.push("denoised");
  if (numHistory > 0) also.push("nextHistory");
  if (image > 0) also.push("input");
  const attrs = {
    numHistory,
    ...(bounds ? { bounds } : {}),
    ...(quantile === undefined ? {} : { quantile }),
    ...(maxValue === undefined ? {} : { maxValue }),
    ...(philox?.lanes === undefined ? {} : { lanes: philox.lanes }),
  };
  return { name, inputs, attrs, also };
}

const svd: Size = [25, 72, 128, 4];
const guided = { rows: 2 } as const;

/** Timed steps of every method, as what each remembers and whether it draws noise decide their cost; the method that a row is named after
 *  and those that are the same to the op. Noise is given. */
const methods: readonly Case[] = [
  // ddim, edm_euler, flow_euler
  step("svd-xt.sampler_step", svd, guided),
  // dpmpp_2m, heun, deis, edm_dpmpp_2m, flow_heun
  step("svd-xt.sampler_step.multistep", svd, { ...guided, numHistory: 2 }),
  // euler_a, ddpm, lcm, tcd, animatelcm
  step("svd-xt.sampler_step.ancestral", svd, { ...guided, noise: true }),
  step("svd-xt.sampler_step.kdpm2", svd, { ...guided, numHistory: 1 }),
  // dpmpp_2s_a
  step("svd-xt.sampler_step.kdpm2_a", svd, { ...guided, numHistory: 1, noise: true }),
  // dpmpp_sde
  step("svd-xt.sampler_step.dpmpp_2m_sde", svd, { ...guided, numHistory: 2, noise: true }),
  // dpmpp_2s
  step("svd-xt.sampler_step.unipc", svd, { ...guided, numHistory: 3 }),
  step("svd-xt.sampler_step.dpmpp_3m_sde", svd, { ...guided, numHistory: 3, noise: true }),
  // ipndm, pndm
  step("svd-xt.sampler_step.lms", svd, { ...guided, numHistory: 4 }),
];

const halfPrediction = { dims: [2, 3, 4, 5, 4], dtype: "f16" } as const;

export default defineCases(samplerStep, {
  correctness: [
    step("euler with guidance", [3, 4, 5, 4], { rows: 2, denoised: true }),
    step("euler without guidance", [3, 4, 5, 4], { rows: 1 }),
    step("ancestral", [2, 3, 5, 4], { rows: 2, noise: true }),
    step("two steps of history", [2, 3, 5, 4], { rows: 2, numHistory: 2, denoised: true }),
    step("eight steps of history, odd channels", [1, 3, 2, 3], {
      rows: 1,
      numHistory: 8,
      imageChannels: 5,
      noise: true,
    }),
    step("last step", [3, 2, 3, 4], { rows: 2, imageChannels: 0 }),
    { ...step("next input without a picture", [3, 2, 3, 4], { rows: 2, imageChannels: 0 }), also: ["input"] },
    {
      ...step("next input with a picture, not scaled", [2, 3, 2, 4], { rows: 2, imageChannels: 0 }),
      inputs: {
        ...step("", [2, 3, 2, 4], { rows: 2, imageChannels: 0 }).inputs,
        image: [1, 1, 3, 2, 5],
      },
      also: ["input"],
    },
    {
      ...step("next input without a picture, scaled", [2, 3, 2, 4], { rows: 1, imageChannels: 0 }),
      inputs: { ...step("", [2, 3, 2, 4], { rows: 1, imageChannels: 0 }).inputs, inputScale: [1] },
      also: ["input", "denoised"],
    },
    {
      ...step("prediction f16", [3, 4, 5, 4], { rows: 2, numHistory: 1 }),
      inputs: {
        ...step("", [3, 4, 5, 4], { rows: 2, numHistory: 1 }).inputs,
        prediction: halfPrediction,
        image: { dims: [1, 1, 4, 5, 4], dtype: "f16" },
      },
    },
    {
      ...step("on gaps", [2, 3, 5, 4], { rows: 2, numHistory: 1 }),
      inputs: {
        ...step("", [2, 3, 5, 4], { rows: 2, numHistory: 1 }).inputs,
        prediction: { dims: [2, 2, 3, 5, 4], gap: 4 },
        x: { dims: [1, 2, 3, 5, 4], gap: 3 },
        image: { dims: [1, 1, 3, 5, 4], gap: 1 },
      },
      outGap: 3,
    },
    step("clipped", [2, 3, 5, 4], { rows: 2, bounds: "clip", denoised: true, noise: true }),
    step("thresholded", [2, 3, 5, 4], { rows: 1, bounds: "threshold", quantile: 0.7, maxValue: 9, denoised: true }),
    step("thresholded at the top", [1, 3, 2, 3], { rows: 1, bounds: "threshold", quantile: 1, maxValue: 100 }),
    step("thresholded, all the same", [1, 2, 2, 1], { rows: 1, bounds: "threshold", quantile: 0.5, imageChannels: 0 }),
    {
      ...step("thresholded, many blocks and history", [2, 41, 37, 4], {
        ...{ rows: 2, numHistory: 2, bounds: "threshold", maxValue: 50, denoised: true },
      }),
      outGap: 1,
    },
    {
      ...step("thresholded, few magnitudes", [2, 6, 5, 4], {
        rows: 1,
        bounds: "threshold",
        quantile: 0.61,
        maxValue: 50,
      }),
      inputs: {
        ...step("", [2, 6, 5, 4], { rows: 1, bounds: "threshold" }).inputs,
        prediction: { dims: [1, 2, 6, 5, 4], fill: { values: [3, -3, 7, 3, -7] } },
        x: { dims: [1, 2, 6, 5, 4], fill: { values: [2] } },
      },
    },
    step("blended with one frame", [3, 4, 5, 4], {
      ...{ rows: 2, denoised: true, blend: { frames: 1, weight: 0.6, threshold: 3 } },
    }),
    step("blended with each frame, bounded, with history", [3, 4, 5, 4], {
      ...{ rows: 1, numHistory: 1, bounds: "clip", blend: { frames: 3, weight: 0.25, threshold: 1.5 } },
    }),
    step("blended behind thresholding", [3, 4, 5, 4], {
      ...{ rows: 2, bounds: "threshold", quantile: 0.9, maxValue: 20, denoised: true },
      blend: { frames: 1, weight: 0.5, threshold: 1 },
    }),
    step("drawn noise", [2, 3, 5, 4], { rows: 2, denoised: true, philox: { words: [1234, 0, 0, 0] } }),
    step("drawn noise, few lanes", [3, 7, 5, 3], { rows: 1, philox: { words: [-5, 77, -1, 3], lanes: 37 } }),
    step("drawn noise, thresholded", [2, 3, 5, 4], {
      ...{ rows: 2, bounds: "threshold", maxValue: 7, philox: { words: [42, 0, 8, 0], lanes: 64 } },
    }),
  ],
  bench: [
    step("tiny.sampler_step", [14, 16, 16, 4], { rows: 2 }),
    ...methods,
    step("svd-xt.sampler_step.philox", [25, 72, 128, 4], { rows: 2, philox: { words: [42, 0, 0, 0], lanes: 270_336 } }),
    step("svd-xt.sampler_step.clip", [25, 72, 128, 4], { rows: 2, bounds: "clip" }),
    step("svd-xt.sampler_step.threshold", [25, 72, 128, 4], { rows: 2, bounds: "threshold", maxValue: 10 }),
    step("svd-xt.sampler_step.blend_first", [25, 72, 128, 4], {
      ...{ rows: 2, blend: { frames: 1, weight: 0.5, threshold: 1 } },
    }),
    step("svd-xt.sampler_step.blend", [25, 72, 128, 4], {
      ...{ rows: 2, blend: { frames: 25, weight: 0.5, threshold: 1 } },
    }),
    step("svd-xt.sampler_step.everything", [25, 72, 128, 4], {
      ...{
        rows: 2,
        numHistory: 2,
        bounds: "threshold",
        maxValue: 10,
        philox: { words: [42, 0, 0, 0], lanes: 270_336 },
      },
      blend: { frames: 25, weight: 0.5, threshold: 1 },
    }),
  ],
});
