import { add, defineOp, groupNormAttrs, groupNormInputs, groupNormRules, QUANTIZED } from "../../contract/op-kit";

export default defineOp({
  id: "group_norm_q8",
  summary:
    "Normalises channel groups of a clip as group_norm does and rounds the result to 8 bits with one scale that is known " +
    "before, so that a convolution in 8 bits follows without a pass of its own: y = round(group_norm(x) · (1 / yScale)), " +
    "ties to even, saturating at ±448 (f8e4m3) or ±127 (i8).",
  formula: [
    "n = act((x − mean[g]) / √(variance[g] + eps) · weight[c] + bias[c]), channel c in group g",
    "y = round(n · (1 / yScale))",
  ],
  source: ["https://arxiv.org/abs/1803.08494", "https://arxiv.org/abs/2209.05433"],
  inputs: {
    ...groupNormInputs,
    yScale: { dims: [1, 1, 1, 1], dtype: ["f32"], doc: "what codes stand for multiples of; finite and positive" },
  },
  attrs: groupNormAttrs,
  outputs: {
    y: {
      dims: ["B", "F", "H", "W", add("C", "C2")],
      dtype: QUANTIZED,
      apart: "all",
      doc: "codes; f8e4m3 unless `out` is i8",
    },
  },
  rules: groupNormRules,
  cost: ({ B, F, H, W, C, C2 }) => ({ flops: 9 * B! * F! * H! * W! * (C! + C2!) }),
  // A number beside a tie may go to either code: one of 127, or an eighth of a number.
  tolerance: {
    f32: { nmse: 1e-3, worst: 0.3 },
    f8e4m3: { nmse: 1e-3, worst: 0.3 },
    i8: { nmse: 1e-3, worst: 0.3 },
  },
});
