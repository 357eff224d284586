import { add, attr, defineOp, eq, FLOATS, int, or, present } from "../../contract/op-kit";

const planes = ["B1", "F", "H", "W", "C"] as const;

export default defineOp({
  id: "sampler_step",
  summary:
    "One step of a sampler in one pass: guidance per frame, then linear combinations of sample, prediction, noise and " +
    "history as the coefficients say, then the denoiser's next input.",
  source: [
    "https://arxiv.org/abs/2206.00364 algorithm 1, https://arxiv.org/abs/2211.01095 eq. 9",
    "huggingface/diffusers@58eb52c src/diffusers/schedulers/scheduling_euler_discrete.py `step`",
  ],
  inputs: {
    prediction: {
      dims: ["B", "F", "H", "W", "C"],
      dtype: FLOATS,
      doc: "the denoiser's result; of two rows the unconditional one first",
    },
    x: { dims: planes, dtype: ["f32"], doc: "sample before the step" },
    coefficients: {
      dims: [add(attr("numHistory"), 2), add(attr("numHistory"), 3)],
      dtype: ["f32"],
      doc: "rows: next sample, denoised, next history; columns: x, guided prediction, noise, history",
    },
    guidance: { dims: ["F"], dtype: ["f32"], optional: true, doc: "scale per frame, with two rows" },
    noise: { dims: planes, dtype: ["f32"], optional: true, doc: "unit noise; absent where its column is 0" },
    history: {
      dims: [attr("numHistory"), "F", "H", "W", "C"],
      dtype: ["f32"],
      optional: true,
      doc: "what multistep samplers remember",
    },
    image: { dims: ["B1", 1, "H", "W", "C2"], dtype: FLOATS, optional: true, doc: "latents of the picture" },
    inputScale: {
      dims: ["B1"],
      dtype: ["f32"],
      optional: true,
      doc: "preconditioning factor of the next input; default 1",
    },
  },
  attrs: { numHistory: int("tensors of history", { min: 0, max: 8, default: 0 }) },
  outputs: {
    next: { dims: planes, dtype: ["f32"], doc: "sample after the step; may be x" },
    denoised: { dims: planes, dtype: ["f32"], optional: true, doc: "guess of the clean latents" },
    nextHistory: {
      dims: [attr("numHistory"), "F", "H", "W", "C"],
      dtype: ["f32"],
      optional: true,
      doc: "history after the step; may be history",
    },
    input: {
      dims: ["B", "F", "H", "W", add("C", "C2")],
      dtype: FLOATS,
      optional: true,
      doc: "the denoiser's next input, as denoise_input makes it; without image only the sample's channels",
    },
  },
  rules: [
    { where: "x", test: eq("B1", 1), expected: "one clip", got: "B1" },
    {
      where: "prediction",
      test: or(eq("B", 1), eq("B", 2)),
      expected: "one row, or two: unconditional, conditional",
      got: "B",
    },
    {
      where: "guidance",
      test: eq(present("guidance"), eq("B", 2)),
      expected: "guidance with two rows, none with one",
      got: present("guidance"),
    },
    {
      where: "history",
      test: eq(present("history"), eq(eq(attr("numHistory"), 0), 0)),
      expected: "history where numHistory is not 0, none where it is",
      got: present("history"),
    },
  ],
  cost: ({ F, H, W, C, numHistory }) => ({
    flops: (2 * (numHistory! + 2) * (numHistory! + 3) + 4) * F! * H! * W! * C!,
  }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
