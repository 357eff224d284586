import {
  defineOp,
  FLOATS,
  float,
  keepsChannels,
  oneOf,
  POINTWISE_ACTIVATIONS,
  type TensorSpec,
} from "../../contract/op-kit";

const perChannel = { dims: ["C"], dtype: FLOATS, constant: true } as const satisfies Omit<TensorSpec, "doc">;

export default defineOp({
  id: "batch_norm",
  summary:
    "Normalises each channel by the running statistics of a batch norm in evaluation: act((x − mean) / sqrt(variance + eps) · " +
    "weight + bias). Where a convolution comes before, foldBatchNorm merges both into one at no cost.",
  formula: ["y = act((x − mean[c]) / √(variance[c] + eps) · weight[c] + bias[c])"],
  source: ["https://arxiv.org/abs/1502.03167"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    mean: { ...perChannel, doc: "running mean" },
    variance: { ...perChannel, doc: "running variance, not negative" },
    weight: { ...perChannel, optional: true, doc: "learned factor; default 1" },
    bias: { ...perChannel, optional: true, doc: "learned summand; default 0" },
  },
  attrs: {
    eps: float("added to the variance", undefined, { min: 0 }),
    act: oneOf("Activation", POINTWISE_ACTIVATIONS, "activation of the result", "none"),
  },
  outputs: { y: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "result" } },
  rules: [keepsChannels],
  cost: ({ B, F, H, W, C }) => ({ flops: 2 * B! * F! * H! * W! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
