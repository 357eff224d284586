import { add, and, attr, defineOp, eq, FLOATS, float, ge, int, oneOf, or, present } from "../../contract/op-kit";

const planes = ["B1", "F", "H", "W", "C"] as const;
const none = (name: string) => eq(present(name), 0);

export default defineOp({
  id: "sampler_step",
  summary:
    "One step of a sampler in one launch: guidance per frame, the data prediction kept within bounds and blended with " +
    "earlier latents, linear combinations of sample, prediction, noise, history and data as the coefficients say, then " +
    "the denoiser's next input. Noise is given, or drawn on the device.",
  formula: [
    "p = prediction₀[f] + guidance[f] · (prediction₁[f] − prediction₀[f])",
    "terms = (x, p, noise, history…)",
    "data = coefficients[last] · terms, within bounds; then data + weight · (previous − data) where max |data − previous| ≤ threshold",
    "next, denoised, nextHistory… = coefficients[0], coefficients[1], … · (terms, data)",
    "input = (inputScale · next, image) in every row, zeros for image in the unconditional one",
  ],
  source: [
    "https://arxiv.org/abs/2206.00364 algorithm 1, https://arxiv.org/abs/2211.01095 eq. 9",
    "huggingface/diffusers@58eb52c src/diffusers/schedulers/scheduling_euler_discrete.py `step`",
    "https://arxiv.org/abs/2205.11487 section 2.3 (dynamic thresholding)",
    "J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), Philox4x32-10; pytorch/pytorch " +
      "aten/src/ATen/native/cuda/DistributionTemplates.h (order of the numbers)",
  ],
  inputs: {
    prediction: {
      dims: ["B", "F", "H", "W", "C"],
      dtype: FLOATS,
      doc: "the denoiser's result; of two rows the unconditional one first",
    },
    x: { dims: planes, dtype: ["f32"], doc: "sample before the step" },
    coefficients: {
      dims: [add(add(attr("numHistory"), 2), "D"), add(add(attr("numHistory"), 3), "D")],
      dtype: ["f32"],
      doc:
        "rows: next sample, denoised, next history; columns: x, guided prediction, noise, history. With bounds or " +
        "previous (D = 1) one more row, the data prediction from those terms, and one more column, the weight of what " +
        "bounds and blend leave of it",
    },
    guidance: { dims: ["F"], dtype: ["f32"], optional: true, doc: "scale per frame, with two rows" },
    noise: { dims: planes, dtype: ["f32"], optional: true, doc: "unit noise; absent where its column is 0" },
    philox: {
      dims: [4],
      dtype: ["i32"],
      optional: true,
      doc:
        "instead of noise: lower and upper half of a seed, then of the number of engine calls before (torch's offset " +
        "/ 4). Element i of the clip as planes [F,C,H,W] gets what torch.randn(…, device='cuda') gives it",
    },
    history: {
      dims: [attr("numHistory"), "F", "H", "W", "C"],
      dtype: ["f32"],
      optional: true,
      doc: "what multistep samplers remember",
    },
    previous: {
      dims: ["B1", { oneOr: "F" }, "H", "W", "C"],
      dtype: ["f32"],
      optional: true,
      doc: "clean latents that the data prediction is blended with, of one frame or of each",
    },
    blend: {
      dims: [2],
      dtype: ["f32"],
      optional: true,
      doc: "weight of previous, and the largest difference of any channel up to which a pixel is blended",
    },
    image: { dims: ["B1", 1, "H", "W", "C2"], dtype: FLOATS, optional: true, doc: "latents of the picture" },
    inputScale: {
      dims: ["B1"],
      dtype: ["f32"],
      optional: true,
      doc: "preconditioning factor of the next input; default 1",
    },
  },
  attrs: {
    numHistory: int("tensors of history", { min: 0, max: 8, default: 0 }),
    bounds: oneOf(
      "StepBounds",
      ["none", "clip", "threshold"],
      "how the data prediction is bounded: clip to ±clipRange, or dynamic thresholding: to ±s, then over s, where s is " +
        "the clip's quantile of magnitudes, at least 1 and at most maxValue",
      "none",
    ),
    clipRange: float("largest magnitude that clip leaves", 1, { min: 0 }),
    quantile: float("which quantile thresholding takes, interpolated linearly", 0.995, { min: 0, max: 1 }),
    maxValue: float("largest s of thresholding", 1, { min: 1 }),
    lanes: int("threads of torch's kernel, among which philox numbers are dealt; default one per element", {
      min: 1,
      default: 2 ** 31 - 1,
    }),
  },
  derived: { D: or(present("previous"), ge(attr("bounds"), 1)) },
  outputs: {
    // All frames of the next input read the picture's latents.
    next: { dims: planes, dtype: ["f32"], apart: ["image"], doc: "sample after the step; may be x" },
    denoised: { dims: planes, dtype: ["f32"], apart: ["image"], optional: true, doc: "guess of the clean latents" },
    nextHistory: {
      dims: [attr("numHistory"), "F", "H", "W", "C"],
      dtype: ["f32"],
      apart: ["image"],
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
    {
      where: "philox",
      test: or(none("philox"), none("noise")),
      expected: "noise or philox, not both",
      got: and(present("philox"), present("noise")),
    },
    {
      where: "blend",
      test: eq(present("blend"), present("previous")),
      expected: "blend and previous both or neither",
      got: present("blend"),
    },
  ],
  cost: ({ F, H, W, C, D, numHistory }) => ({
    flops: (2 * (numHistory! + 2 + (D ?? 0)) * (numHistory! + 3 + (D ?? 0)) + 4) * F! * H! * W! * C!,
  }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
