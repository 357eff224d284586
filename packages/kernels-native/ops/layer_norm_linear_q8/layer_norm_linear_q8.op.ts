import {
  defineOp,
  FLOATS,
  gatedColumns,
  halvesWhereGated,
  layerNormLinearQ8Attrs,
  layerNormLinearQ8Cost,
  layerNormLinearQ8Inputs,
} from "../../contract/op-kit";

export default defineOp({
  id: "layer_norm_linear_q8",
  summary:
    "Normalises each token over its channels and rounds it to float8 with one scale that is known before, as layer_norm_q8 does, then " +
    "multiplies the codes with a weight matrix in float8 and applies the shared epilogue, as linear_q8 does: for a norm that one linear " +
    "layer alone reads. Kernels need not put the normalised tokens into memory.",
  formula: [
    "n[s,c] = round(((x[s,c] − mean[s]) / √(variance[s] + eps) · normWeight[c] + normBias[c]) · (1 / normScale)), statistics over channels",
    "sum[s,n] = normScale · weightScale[n] · Σ꜀ n[s,c] · weight[n,c]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: ["https://arxiv.org/abs/1607.06450", "https://arxiv.org/abs/2209.05433"],
  inputs: layerNormLinearQ8Inputs,
  attrs: layerNormLinearQ8Attrs,
  derived: { K: gatedColumns },
  outputs: {
    y: {
      dims: ["B", "F", "S", "K"],
      dtype: FLOATS,
      apart: ["x", "weight", "normWeight", "normBias"],
      doc: "result",
    },
  },
  rules: [halvesWhereGated],
  cost: layerNormLinearQ8Cost,
  // A normalised number beside a tie may go to either code, an eighth of it apart.
  tolerance: {
    f32: { nmse: 1e-4, worst: 0.1 },
    f16: { nmse: 2e-4, worst: 0.3 },
    bf16: { nmse: 3e-4, worst: 0.3 },
  },
});
