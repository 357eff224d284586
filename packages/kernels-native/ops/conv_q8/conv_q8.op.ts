import {
  convQ8Attrs,
  convQ8Cost,
  convQ8Derived,
  convQ8Inputs,
  convQ8Rules,
  defineOp,
  FLOATS,
} from "../../contract/op-kit";

export default defineOp({
  id: "conv_q8",
  summary:
    "Convolves a channels-last clip over frames, height and width with zero padding, activations and filters in 8 bits of " +
    "one type with scales, and applies the shared epilogue: y = tail(xScale · weightScale · Σ x · weight). Sums of at most 1280 " +
    "float8 products are added up in float32, perhaps rounded to 11 bits before; sums of integers are exact. Transposed, pixels " +
    "are spread by the stride instead: 4x4 filters double height and width, among them those of nearest-2x with 3x3 filters " +
    "behind it.",
  formula: [
    "sum[g,p,q,k] = xScale · weightScale[k] · Σ over t,r,s,c of x[g·stride₀ + t − pad, p·stride₁ + r − pad, q·stride₂ + s − pad, c] · weight[k,c,t,r,s]",
    "transposed: sum[g,p,q,k] = xScale · weightScale[k] · Σ over r,s,c with 2·i + r = p + 1, 2·j + s = q + 1 of x[g,i,j,c] · weight[c,k,0,r,s]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "moments[g,k] = (mean, variance) of y[g,p,q,k] over p,q",
  ],
  source: ["https://arxiv.org/abs/1603.07285", "https://arxiv.org/abs/2209.05433"],
  inputs: convQ8Inputs,
  attrs: convQ8Attrs,
  derived: convQ8Derived,
  outputs: {
    y: {
      dims: ["B", "G", "P", "Q", "K"],
      dtype: FLOATS,
      apart: ["x", "weight"],
      doc: "result; f32 unless `out` is of another type",
    },
    moments: {
      dims: ["B", "G", "K", 2],
      dtype: ["f32"],
      apart: "all",
      optional: true,
      doc: "mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them",
    },
  },
  rules: convQ8Rules,
  cost: convQ8Cost,
  // Tensor cores keep about 14 bits of sums of float8 products.
  tolerance: {
    f32: { nmse: 1e-12, worst: 2e-5 },
    i8: { nmse: 1e-12, worst: 2e-5 },
    f8e4m3: { nmse: 1e-5, worst: 2e-2 },
    f16: { nmse: 1e-5, worst: 2e-2 },
    bf16: { nmse: 1e-4, worst: 6e-2 },
  },
});
