import {
  add,
  attr,
  bool,
  choose,
  defineOp,
  divides,
  FLOATS,
  float,
  int,
  keepsChannels,
  oneOf,
  POINTWISE_ACTIVATIONS,
} from "../../contract/op-kit";

export default defineOp({
  id: "group_norm",
  summary: "Normalises channel groups of a clip, optionally of two inputs side by side, then applies an activation.",
  formula: ["y = act((x − mean[g]) / √(variance[g] + eps) · weight[c] + bias[c]), channel c in group g"],
  source: ["https://arxiv.org/abs/1803.08494", "huggingface/diffusers@58eb52c src/diffusers/models/resnet.py"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    x2: { dims: ["B", "F", "H", "W", "C2"], dtype: FLOATS, optional: true, doc: "further channels after those of x" },
    weight: { dims: [add("C", "C2")], dtype: FLOATS, constant: true, doc: "scale" },
    bias: { dims: [add("C", "C2")], dtype: FLOATS, constant: true, doc: "shift" },
    stats: {
      dims: ["B", choose(attr("joinFrames"), 1, "F"), attr("groups"), 2],
      dtype: ["f32"],
      optional: true,
      doc: "mean and 1/sqrt(variance + eps), if computed before by group_norm_stats",
    },
  },
  attrs: {
    groups: int("number of channel groups", { min: 1, max: 65536 }),
    eps: float("added to the variance", undefined, { min: 0 }),
    act: oneOf("Activation", POINTWISE_ACTIVATIONS, "activation of the result", "none"),
    joinFrames: bool("statistics over F, H, W instead of H, W"),
  },
  outputs: { y: { dims: ["B", "F", "H", "W", add("C", "C2")], dtype: FLOATS, doc: "result" } },
  rules: [divides("groups", add("C", "C2")), keepsChannels],
  cost: ({ B, F, H, W, C, C2 }) => ({ flops: 8 * B! * F! * H! * W! * (C! + C2!) }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
