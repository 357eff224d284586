import { defineOp, float, layerNormInputs, QUANTIZED } from "../../contract/op-kit";

export default defineOp({
  id: "layer_norm_q8",
  summary:
    "Normalises each token over its channels as layer_norm does and rounds it to 8 bits with a scale of its own, or with " +
    "one for all that is known before, so that a linear layer in 8 bits follows without a pass of its own: scales = yScale, or " +
    "the largest magnitude of the token / 448 (f8e4m3) or 127 (i8), at least 2^-126; y = round(layer_norm(x) · (1 / scales)), " +
    "ties to even, saturating at ±448 (f8e4m3) or ±127 (i8).",
  formula: [
    "n = ((x − mean) / √(variance + eps) · weight + bias) · (1 + scale) + shift, statistics over channels",
    "scales = max(largest |n| of the token / (448 or 127), 2⁻¹²⁶), unless yScale is given",
    "y = round(n · (1 / scales))",
  ],
  source: ["https://arxiv.org/abs/1607.06450", "https://arxiv.org/abs/2211.10438"],
  inputs: {
    ...layerNormInputs,
    yScale: {
      dims: [1, 1, 1, 1],
      dtype: ["f32"],
      optional: true,
      doc: "what codes stand for multiples of; finite and positive; without it each token has a scale of its own",
    },
  },
  attrs: { eps: float("added to the variance", undefined, { min: 0 }) },
  outputs: {
    y: { dims: ["B", "F", "S", "C"], dtype: QUANTIZED, apart: "all", doc: "codes; f8e4m3 unless `out` is i8" },
    scales: {
      dims: ["B", "F", "S", 1],
      dtype: ["f32"],
      optional: true,
      apart: "all",
      doc: "what y is to be multiplied with; yScale for each token where that is given",
    },
  },
  rules: [],
  cost: ({ B, F, S, C }) => ({ flops: 10 * B! * F! * S! * C! }),
  // A number beside a tie may go to either code: one of 127, or an eighth of a number.
  tolerance: {
    f32: { nmse: 1e-3, worst: 0.3 },
    f8e4m3: { nmse: 1e-3, worst: 0.3 },
    i8: { nmse: 1e-3, worst: 0.3 },
  },
});
