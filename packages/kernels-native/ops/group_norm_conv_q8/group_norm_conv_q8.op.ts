import {
  defineOp,
  epilogueInputs,
  FLOATS,
  groupNormConvAttrs,
  groupNormConvCost,
  groupNormConvDerived,
  groupNormConvInputs,
  groupNormConvMoments,
  groupNormConvRules,
} from "../../contract/op-kit";

export default defineOp({
  id: "group_norm_conv_q8",
  summary:
    "Normalises the channel groups of a clip by given statistics, activates and rounds to float8 with one scale that is known " +
    "before, as group_norm_q8 does, then convolves the codes with filters in float8, as conv_q8 does: every frame with 3x3 filters, " +
    "zeros around what is normalised, or each pixel's frames with 3x1x1 filters, a step of one. Kernels need not put the codes into " +
    "memory.",
  formula: [
    "n = round(act((x − mean[g]) / √(variance[g] + eps) · normWeight[c] + normBias[c]) · (1 / normScale))",
    "3x3: sum[g,p,q,k] = normScale · weightScale[k] · Σ over r,s,c of n[g, p + r − 1, q + s − 1, c] · weight[k,c,0,r,s]",
    "3x1x1: sum[g,p,q,k] = normScale · weightScale[k] · Σ over t,c of n[g + t − pad, p, q, c] · weight[k,c,t,0,0]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "moments[g,k] = (mean, variance) of y[g,p,q,k] over p,q",
  ],
  source: ["https://arxiv.org/abs/1803.08494", "https://arxiv.org/abs/2209.05433"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    normScale: {
      dims: [1, 1, 1, 1],
      dtype: ["f32"],
      doc: "what codes of the normalised channels stand for multiples of; finite and positive",
    },
    weight: {
      dims: ["K", "C", "T", "R", "S"],
      dtype: ["f8e4m3"],
      constant: true,
      doc: "codes of filters, in the checkpoint's layout",
    },
    weightScale: {
      dims: [{ oneOr: "K" }, 1],
      dtype: ["f32"],
      constant: true,
      doc: "of the filters: one, or one for each output channel",
    },
    ...groupNormConvInputs,
    ...epilogueInputs(["B", "G", "H", "W", "K"], "K", "G"),
  },
  attrs: groupNormConvAttrs,
  derived: groupNormConvDerived,
  outputs: {
    y: {
      dims: ["B", "G", "H", "W", "K"],
      dtype: FLOATS,
      apart: ["x", "weight", "stats", "normWeight", "normBias"],
      doc: "result",
    },
    moments: groupNormConvMoments,
  },
  rules: groupNormConvRules,
  cost: groupNormConvCost,
  // A normalised number beside a tie may go to either code, an eighth of it apart.
  tolerance: {
    f32: { nmse: 1e-4, worst: 0.1 },
    f16: { nmse: 2e-4, worst: 0.3 },
    bf16: { nmse: 3e-4, worst: 0.3 },
  },
});
