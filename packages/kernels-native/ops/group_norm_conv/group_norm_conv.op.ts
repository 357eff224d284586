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
  id: "group_norm_conv",
  summary:
    "Normalises the channel groups of a clip by given statistics and activates, as group_norm does, then convolves every frame with " +
    "3x3 filters, zeros around what is normalised, or each pixel's frames with 3x1x1 filters, a step of one, and applies the shared " +
    "epilogue, as conv does. Kernels need not put the normalised clip into memory.",
  formula: [
    "n = act((x − mean[g]) / √(variance[g] + eps) · normWeight[c] + normBias[c])",
    "3x3: sum[g,p,q,k] = Σ over r,s,c of n[g, p + r − 1, q + s − 1, c] · weight[k,c,0,r,s]",
    "3x1x1: sum[g,p,q,k] = Σ over t,c of n[g + t − pad, p, q, c] · weight[k,c,t,0,0]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "moments[g,k] = (mean, variance) of y[g,p,q,k] over p,q",
  ],
  source: ["https://arxiv.org/abs/1803.08494", "huggingface/diffusers@58eb52c src/diffusers/models/resnet.py"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    weight: { dims: ["K", "C", "T", "R", "S"], dtype: FLOATS, constant: true, doc: "filters, as in the checkpoint" },
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
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
