import { defineOp, FLOATS, float, layerNormInputs } from "../../contract/op-kit";

export default defineOp({
  id: "layer_norm",
  summary:
    "Normalises each token over its channels to mean 0 and variance 1; then the learned weight and bias, and the " +
    "modulation of adaptive norms: ((x − mean) / sqrt(variance + eps) · weight + bias) · (1 + scale) + shift.",
  formula: ["y = ((x − mean) / √(variance + eps) · weight + bias) · (1 + scale) + shift, statistics over channels"],
  source: ["https://arxiv.org/abs/1607.06450", "https://arxiv.org/abs/2212.09748"],
  inputs: layerNormInputs,
  attrs: { eps: float("added to the variance", undefined, { min: 0 }) },
  outputs: { y: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "result" } },
  rules: [],
  cost: ({ B, F, S, C }) => ({ flops: 8 * B! * F! * S! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
