import { defineOp, epilogueAttrs, FLOATS, linearQ8Derived, linearQ8Inputs, linearQ8Rules } from "../../contract/op-kit";

export default defineOp({
  id: "linear_q8",
  summary:
    "Multiplies tokens with a weight matrix, both in 8 bits of one type with scales, and applies the shared epilogue: " +
    "y = tail(Σ over blocks of 128 channels of xScale · weightScale · Σ x · weight). Scales that are the same for all " +
    "blocks are applied once. Sums of float8 products are added up in float32 after at most 1280 channels, so that the " +
    "error does not grow with their number; sums of integers are exact. Gated activations as in linear.",
  formula: [
    "sum[s,n] = Σ over blocks g of xScale[s,g] · weightScale[n,g] · Σ over c in g of x[s,c] · weight[n,c]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: ["https://arxiv.org/abs/2209.05433", "https://arxiv.org/abs/2412.19437", "https://arxiv.org/abs/2002.05202"],
  inputs: linearQ8Inputs,
  attrs: { ...epilogueAttrs },
  derived: linearQ8Derived,
  outputs: {
    y: {
      dims: ["B", "F", "S", "K"],
      dtype: FLOATS,
      apart: ["x", "xScale", "weight", "weightScale"],
      doc: "result; f32 unless `out` is of another type",
    },
  },
  rules: linearQ8Rules,
  cost: ({ B, F, S, C, N }) => ({ flops: 2 * B! * F! * S! * C! * N! }),
  // Tensor cores keep about 14 bits of sums of float8 products.
  // Gated results reach thirty times their deviation, where half of bf16's last place is 0.06 deviations.
  tolerance: {
    f32: { nmse: 1e-12, worst: 2e-5 },
    i8: { nmse: 1e-12, worst: 2e-5 },
    f8e4m3: { nmse: 1e-5, worst: 3e-2 },
    f16: { nmse: 1e-5, worst: 3e-2 },
    bf16: { nmse: 1e-4, worst: 0.1 },
  },
});
