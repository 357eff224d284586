import {
  defineOp,
  gatedColumns,
  halvesWhereGated,
  layerNormLinearQ8Attrs,
  layerNormLinearQ8Cost,
  layerNormLinearQ8Inputs,
} from "../../contract/op-kit";

export default defineOp({
  id: "layer_norm_linear_q8_codes",
  summary:
    "Normalises each token over its channels and rounds it to float8 with one scale that is known before, as layer_norm_q8 does, then " +
    "multiplies the codes with a weight matrix in float8 and rounds the result with another known scale, as linear_q8_codes does: for a " +
    "norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory.",
  formula: [
    "n[s,c] = round(((x[s,c] − mean[s]) / √(variance[s] + eps) · normWeight[c] + normBias[c]) · (1 / normScale)), statistics over channels",
    "sum[s,n] = normScale · weightScale[n] · Σ꜀ n[s,c] · weight[n,c]",
    "v = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "y = round(v · (1 / yScale))",
  ],
  source: ["https://arxiv.org/abs/1607.06450", "https://arxiv.org/abs/2209.05433"],
  inputs: {
    ...layerNormLinearQ8Inputs,
    yScale: { dims: [1, 1, 1, 1], dtype: ["f32"], doc: "what codes stand for multiples of; finite and positive" },
  },
  attrs: layerNormLinearQ8Attrs,
  derived: { K: gatedColumns },
  outputs: {
    y: {
      dims: ["B", "F", "S", "K"],
      dtype: ["f8e4m3"],
      apart: ["x", "weight", "normWeight", "normBias"],
      doc: "codes",
    },
  },
  rules: [halvesWhereGated],
  cost: layerNormLinearQ8Cost,
  // As linear_q8_codes; a normalised number beside a tie may go to either code, too.
  tolerance: {
    f32: { nmse: 1e-3, worst: 1 },
    f8e4m3: { nmse: 2e-3, worst: 1 },
  },
});
