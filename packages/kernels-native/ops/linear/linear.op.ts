import {
  add,
  defineOp,
  epilogueAttrs,
  epilogueInputs,
  FLOATS,
  gatedColumns,
  halvesWhereGated,
} from "../../contract/op-kit";

export default defineOp({
  id: "linear",
  summary:
    "Multiplies tokens, optionally of two inputs side by side, with a weight matrix and applies the shared epilogue; " +
    "with geglu the first half of the columns is multiplied by gelu of the second, with swiglu by silu of it.",
  formula: [
    "sum[s,n] = Σ꜀ (x, x2)[s,c] · weight[n,c]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: ["https://arxiv.org/abs/2002.05202", "huggingface/diffusers@58eb52c src/diffusers/models/activations.py"],
  inputs: {
    x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "tokens" },
    x2: { dims: ["B", "F", "S", "C2"], dtype: FLOATS, optional: true, doc: "further channels after those of x" },
    weight: { dims: ["N", add("C", "C2")], dtype: FLOATS, constant: true, doc: "one row per output column" },
    ...epilogueInputs(["B", "F", "S", "K"], "N", "F"),
  },
  attrs: { ...epilogueAttrs },
  derived: { K: gatedColumns },
  outputs: { y: { dims: ["B", "F", "S", "K"], dtype: FLOATS, apart: ["x", "x2", "weight"], doc: "result" } },
  rules: [halvesWhereGated],
  cost: ({ B, F, S, C, C2, N }) => ({ flops: 2 * B! * F! * S! * (C! + C2!) * N! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
