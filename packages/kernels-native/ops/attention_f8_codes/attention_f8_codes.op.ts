import { attentionCodes, attentionHeadAttrs, attentionShapeRules, defineOp } from "../../contract/op-kit";

export default defineOp({
  id: "attention_f8_codes",
  summary:
    "Computes attention_f8 and rounds the result to float8 with one scale that is known before, so that a linear layer in 8 bits follows " +
    "without a pass of its own: y = round(attention_f8(q, k, v) · (1 / yScale)), ties to even, saturating at ±448. No result is larger " +
    "than the largest value, so that the scale can follow from that of values.",
  formula: [
    "score[i,j] = scale · qScale · kScale · q[i] · k[j]",
    "o[i] = vScale · Σⱼ softmaxⱼ(score[i,j]) · v[j]",
    "y = round(o · (1 / yScale))",
  ],
  source: ["https://arxiv.org/abs/2205.14135", "https://arxiv.org/abs/2407.08608", "https://arxiv.org/abs/2209.05433"],
  inputs: {
    ...attentionCodes,
    yScale: { dims: [1, 1, 1, 1], dtype: ["f32"], doc: "what codes stand for multiples of; finite and positive" },
  },
  attrs: attentionHeadAttrs,
  outputs: { y: { dims: ["B", "F", "S", "E"], dtype: ["f8e4m3"], apart: "all", doc: "codes" } },
  rules: attentionShapeRules,
  cost: ({ B, F, S, E, L, Fk, axis }) => ({ flops: 4 * B! * F! * S! * E! * (axis === 1 ? Fk! : L!) }),
  // As attention_q8. A number beside a tie may go to either code: an eighth of a number.
  tolerance: { f32: { nmse: 1e-3, worst: 0.5 }, f8e4m3: { nmse: 6e-3, worst: 0.75 } },
});
