import { defineOp, FLOATS, float, modulationInputs } from "../../contract/op-kit";

export default defineOp({
  id: "rms_norm",
  summary:
    "Divides each token by the root mean square of its channels; then the learned weight, and the modulation of adaptive " +
    "norms: x / sqrt(mean(x²) + eps) · weight · (1 + scale) + shift.",
  formula: ["y = x / √(mean(x²) + eps) · weight · (1 + scale) + shift, the mean over channels"],
  source: ["https://arxiv.org/abs/1910.07467"],
  inputs: {
    x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "tokens" },
    weight: { dims: ["C"], dtype: FLOATS, optional: true, constant: true, doc: "learned factor; default 1" },
    ...modulationInputs,
  },
  attrs: { eps: float("added to the mean square", undefined, { min: 0 }) },
  outputs: { y: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "result" } },
  rules: [],
  cost: ({ B, F, S, C }) => ({ flops: 6 * B! * F! * S! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
