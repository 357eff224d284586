import { type CaseOf, defineCases } from "../../contract/define-case";
import denoiseInput from "./denoise_input.op";

type Case = CaseOf<typeof denoiseInput>;

const input = (name: string, [f, h, w, c, c2]: [number, number, number, number, number], rows: number): Case => ({
  name,
  inputs: { latents: [1, f, h, w, c], image: [1, 1, h, w, c2], inputScale: [1] },
  attrs: { rows },
});

export default defineCases(denoiseInput, {
  correctness: [
    input("with guidance", [3, 4, 5, 4, 4], 2),
    input("without guidance", [3, 4, 5, 4, 4], 1),
    input("one frame, odd channels", [1, 3, 2, 3, 5], 2),
    {
      name: "on gaps",
      inputs: { latents: { dims: [1, 3, 2, 5, 4], gap: 4 }, image: { dims: [1, 1, 2, 5, 4], gap: 1 }, inputScale: [1] },
      attrs: { rows: 2 },
      outGap: 8,
    },
    {
      name: "latents f16",
      inputs: {
        latents: { dims: [1, 3, 2, 5, 4], dtype: "f16" },
        image: { dims: [1, 1, 2, 5, 4], dtype: "f16" },
        inputScale: [1],
      },
      attrs: { rows: 2 },
    },
  ],
  bench: [input("tiny.denoise_input", [14, 16, 16, 4, 4], 2), input("svd-xt.denoise_input", [25, 72, 128, 4, 4], 2)],
});
