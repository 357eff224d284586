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
}

function step(name: string, size: Size, { rows, numHistory = 0, noise, imageChannels, denoised }: Parts): Case {
  const [F, H, W, C] = size;
  const image = imageChannels ?? C;
  const inputs: Record<string, Operand | readonly number[]> = {
    prediction: [rows, F, H, W, C],
    x: [1, F, H, W, C],
    coefficients: [numHistory + 2, numHistory + 3],
    ...(rows === 2 ? { guidance: [F] } : {}),
    ...(noise ? { noise: [1, F, H, W, C] } : {}),
    ...(numHistory > 0 ? { history: [numHistory, F, H, W, C] } : {}),
    ...(image > 0 ? { image: [1, 1, H, W, image], inputScale: [1] } : {}),
  };
  const also: ("denoised" | "nextHistory" | "input")[] = [];
  if (denoised) also.push("denoised");
  if (numHistory > 0) also.push("nextHistory");
  if (image > 0) also.push("input");
  return { name, inputs, attrs: { numHistory }, also };
}

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
  ],
  bench: [
    step("tiny.sampler_step", [14, 16, 16, 4], { rows: 2 }),
    step("svd-xt.sampler_step", [25, 72, 128, 4], { rows: 2 }),
    step("svd-xt.sampler_step.multistep", [25, 72, 128, 4], { rows: 2, numHistory: 2 }),
  ],
});
