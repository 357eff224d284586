import {
  add,
  attr,
  convOut,
  defineOp,
  epilogueAttrs,
  epilogueInputs,
  FLOATS,
  ge,
  ints,
  keepsChannels,
  QUANTIZED,
} from "../../contract/op-kit";

const paddingOf = (axis: number) => add(attr("padding", 2 * axis), attr("padding", 2 * axis + 1));
const out = (size: string, kernel: string, axis: number) =>
  convOut(size, kernel, attr("stride", axis), paddingOf(axis));
const covers = (size: string, kernel: string, axis: number) => ({
  where: size,
  test: ge(add(size, paddingOf(axis)), kernel),
  expected: "a padded size of at least the kernel's",
  got: add(size, paddingOf(axis)),
});

export default defineOp({
  id: "conv_q8",
  summary:
    "Convolves a channels-last clip over frames, height and width with zero padding, activations and filters in 8 bits of " +
    "one type with scales, and applies the shared epilogue: y = tail(xScale · weightScale · Σ x · weight). Sums of float8 " +
    "products are added up in float32 after at most 1280 of them; sums of integers are exact.",
  formula: [
    "sum[g,p,q,k] = xScale · weightScale[k] · Σ over t,r,s,c of x[g·stride₀ + t − pad, p·stride₁ + r − pad, q·stride₂ + s − pad, c] · weight[k,c,t,r,s]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: ["https://arxiv.org/abs/1603.07285", "https://arxiv.org/abs/2209.05433"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: QUANTIZED, doc: "activations" },
    xScale: { dims: [{ oneOr: "B" }, 1, 1, 1], dtype: ["f32"], doc: "of the activations: one, or one for each clip" },
    weight: {
      dims: ["K", "C", "T", "R", "S"],
      dtype: QUANTIZED,
      constant: true,
      doc: "filters in the checkpoint's layout, in the type of x",
    },
    weightScale: { dims: [{ oneOr: "K" }, 1], dtype: ["f32"], constant: true, doc: "of the filters" },
    ...epilogueInputs(["B", "G", "P", "Q", "K"], "K", "G"),
  },
  attrs: {
    stride: ints("steps in frames, height, width", 3, { min: 1, max: 64, default: [1, 1, 1] }),
    padding: ints("zeros at front, back, top, bottom, left, right", 6, { max: 64, default: [0, 0, 0, 0, 0, 0] }),
    ...epilogueAttrs,
  },
  derived: { G: out("F", "T", 0), P: out("H", "R", 1), Q: out("W", "S", 2) },
  outputs: {
    y: {
      dims: ["B", "G", "P", "Q", "K"],
      dtype: FLOATS,
      apart: ["x", "weight"],
      doc: "result; f32 unless `out` is of another type",
    },
  },
  rules: [covers("F", "T", 0), covers("H", "R", 1), covers("W", "S", 2), keepsChannels],
  cost: ({ B, G, P, Q, K, C, T, R, S }) => ({ flops: 2 * B! * G! * P! * Q! * K! * C! * T! * R! * S! }),
  // Tensor cores keep about 14 bits of sums of float8 products.
  tolerance: {
    f32: { nmse: 1e-12, worst: 2e-5 },
    i8: { nmse: 1e-12, worst: 2e-5 },
    f8e4m3: { nmse: 1e-5, worst: 2e-2 },
    f16: { nmse: 1e-5, worst: 2e-2 },
    bf16: { nmse: 1e-4, worst: 6e-2 },
  },
});
