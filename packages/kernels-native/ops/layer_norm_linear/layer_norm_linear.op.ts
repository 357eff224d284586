import {
  defineOp,
  epilogueAttrs,
  epilogueInputs,
  FLOATS,
  float,
  gatedColumns,
  halvesWhereGated,
  tokenNormInputs,
} from "../../contract/op-kit";

export default defineOp({
  id: "layer_norm_linear",
  summary:
    "Normalises each token over its channels, as layer_norm does, then multiplies it with a weight matrix and applies the shared " +
    "epilogue, as linear does: for a norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory.",
  formula: [
    "n[s,c] = (x[s,c] − mean[s]) / √(variance[s] + eps) · normWeight[c] + normBias[c], statistics over channels",
    "sum[s,n] = Σ꜀ n[s,c] · weight[n,c]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: ["https://arxiv.org/abs/1607.06450", "huggingface/diffusers@58eb52c src/diffusers/models/attention.py"],
  inputs: {
    x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "tokens" },
    weight: { dims: ["N", "C"], dtype: FLOATS, constant: true, doc: "one row per output column" },
    ...tokenNormInputs,
    ...epilogueInputs(["B", "F", "S", "K"], "N", "F"),
  },
  attrs: { eps: float("added to the variance", undefined, { min: 0 }), ...epilogueAttrs },
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
  cost: ({ B, F, S, C, N }) => ({ flops: 2 * B! * F! * S! * C! * N! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
