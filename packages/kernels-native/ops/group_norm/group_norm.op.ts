import { add, defineOp, FLOATS, groupNormAttrs, groupNormInputs, groupNormRules } from "../../contract/op-kit";

export default defineOp({
  id: "group_norm",
  summary: "Normalises channel groups of a clip, optionally of two inputs side by side, then applies an activation.",
  formula: ["y = act((x − mean[g]) / √(variance[g] + eps) · weight[c] + bias[c]), channel c in group g"],
  source: ["https://arxiv.org/abs/1803.08494", "huggingface/diffusers@58eb52c src/diffusers/models/resnet.py"],
  inputs: groupNormInputs,
  attrs: groupNormAttrs,
  outputs: { y: { dims: ["B", "F", "H", "W", add("C", "C2")], dtype: FLOATS, doc: "result" } },
  rules: groupNormRules,
  cost: ({ B, F, H, W, C, C2 }) => ({ flops: 8 * B! * F! * H! * W! * (C! + C2!) }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
