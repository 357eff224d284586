import { attentionCodes, attentionHeadAttrs, attentionShapeRules, defineOp, FLOATS } from "../../contract/op-kit";

export default defineOp({
  id: "attention_f8",
  summary:
    "Computes softmax(scale · q kᵀ) v per head, over the tokens of each frame or over the frames of each token, of float8 codes with scales " +
    "that are known: for queries, keys and values that the layer before leaves as codes, where attention_q8 reads numbers and rounds them. " +
    "Over the tokens of a frame tensor cores add up scores in float16, which codes of q and k of at most 28 in size fit in heads of 64, and " +
    "round probabilities as attention_q8 does.",
  formula: ["score[i,j] = scale · qScale · kScale · q[i] · k[j]", "y[i] = vScale · Σⱼ softmaxⱼ(score[i,j]) · v[j]"],
  source: ["https://arxiv.org/abs/2205.14135", "https://arxiv.org/abs/2407.08608", "https://arxiv.org/abs/2209.05433"],
  inputs: attentionCodes,
  attrs: attentionHeadAttrs,
  outputs: {
    y: { dims: ["B", "F", "S", "E"], dtype: FLOATS, apart: "all", doc: "result; f32 unless `out` is of another type" },
  },
  rules: attentionShapeRules,
  cost: ({ B, F, S, E, L, Fk, axis }) => ({ flops: 4 * B! * F! * S! * E! * (axis === 1 ? Fk! : L!) }),
  // As attention_q8.
  tolerance: { f32: { nmse: 1e-10, worst: 2e-4 }, f16: { nmse: 3e-3, worst: 0.5 }, bf16: { nmse: 3e-3, worst: 0.5 } },
});
