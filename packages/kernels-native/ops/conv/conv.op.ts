import {
  add,
  attr,
  bool,
  convOut,
  defineOp,
  type Expr,
  epilogueAttrs,
  epilogueInputs,
  FLOATS,
  ge,
  ints,
  keepsChannels,
  mul,
} from "../../contract/op-kit";

const grown = (size: string) => mul(size, add(1, attr("upsample")));
const paddingOf = (axis: number) => add(attr("padding", 2 * axis), attr("padding", 2 * axis + 1));
const out = (size: Expr, kernel: string, axis: number) => convOut(size, kernel, attr("stride", axis), paddingOf(axis));
const covers = (where: string, size: Expr, kernel: string, axis: number) => ({
  where,
  test: ge(add(size, paddingOf(axis)), kernel),
  expected: "a padded size of at least the kernel's",
  got: add(size, paddingOf(axis)),
});

export default defineOp({
  id: "conv",
  summary:
    "Convolves a channels-last clip over frames, height and width with zero padding, optionally after nearest-2x " +
    "upsampling of height and width, and applies the shared epilogue. Padding adds nothing on the CPU, whatever the " +
    "weights; a GPU multiplies its zeros, so that weights which are not finite give NaN at the borders there. Inputs that " +
    "are not finite reach the results whose windows hold them, as infinities or NaN.",
  formula: [
    "sum[g,p,q,k] = Σ over t,r,s,c of x[g·stride₀ + t − pad, p·stride₁ + r − pad, q·stride₂ + s − pad, c] · weight[k,c,t,r,s]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: ["https://arxiv.org/abs/1603.07285", "huggingface/diffusers@58eb52c src/diffusers/models/resnet.py"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    weight: { dims: ["K", "C", "T", "R", "S"], dtype: FLOATS, constant: true, doc: "filters, as in the checkpoint" },
    ...epilogueInputs(["B", "G", "P", "Q", "K"], "K", "G"),
  },
  attrs: {
    stride: ints("steps in frames, height, width", 3, { min: 1, max: 64, default: [1, 1, 1] }),
    padding: ints("zeros at front, back, top, bottom, left, right", 6, { max: 64, default: [0, 0, 0, 0, 0, 0] }),
    upsample: bool("double height and width by nearest neighbour first"),
    ...epilogueAttrs,
  },
  derived: { G: out("F", "T", 0), P: out(grown("H"), "R", 1), Q: out(grown("W"), "S", 2) },
  outputs: { y: { dims: ["B", "G", "P", "Q", "K"], dtype: FLOATS, doc: "result" } },
  rules: [covers("F", "F", "T", 0), covers("H", grown("H"), "R", 1), covers("W", grown("W"), "S", 2), keepsChannels],
  cost: ({ B, G, P, Q, K, C, T, R, S }) => ({ flops: 2 * B! * G! * P! * Q! * K! * C! * T! * R! * S! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
