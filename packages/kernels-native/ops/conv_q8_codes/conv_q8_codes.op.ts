import {
  convQ8Attrs,
  convQ8Cost,
  convQ8Derived,
  convQ8Inputs,
  convQ8Rules,
  defineOp,
  QUANTIZED,
} from "../../contract/op-kit";

export default defineOp({
  id: "conv_q8_codes",
  summary:
    "Convolves a clip as conv_q8 does and rounds the result to 8 bits with one scale that is known before, so that a " +
    "convolution in 8 bits follows without a pass of its own: y = round(conv_q8(x) · (1 / yScale)), ties to even, " +
    "saturating at ±448 (f8e4m3) or ±127 (i8).",
  formula: [
    "sum[g,p,q,k] = xScale · weightScale[k] · Σ over t,r,s,c of x[g·stride₀ + t − pad, p·stride₁ + r − pad, q·stride₂ + s − pad, c] · weight[k,c,t,r,s]",
    "transposed: sum[g,p,q,k] = xScale · weightScale[k] · Σ over r,s,c with 2·i + r = p + 1, 2·j + s = q + 1 of x[g,i,j,c] · weight[c,k,0,r,s]",
    "v = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "y = round(v · (1 / yScale))",
  ],
  source: ["https://arxiv.org/abs/1603.07285", "https://arxiv.org/abs/2209.05433"],
  inputs: {
    ...convQ8Inputs,
    yScale: { dims: [1, 1, 1, 1], dtype: ["f32"], doc: "what codes stand for multiples of; finite and positive" },
  },
  attrs: convQ8Attrs,
  derived: convQ8Derived,
  outputs: {
    y: {
      dims: ["B", "G", "P", "Q", "K"],
      dtype: QUANTIZED,
      apart: ["x", "weight"],
      doc: "codes, in the type of x unless `out` is of the other one",
    },
  },
  rules: convQ8Rules,
  cost: convQ8Cost,
  // A number beside a tie may go to either code: one of 127, or an eighth of a number, of which the largest are eight times the deviation.
  tolerance: {
    f32: { nmse: 1e-3, worst: 0.3 },
    f8e4m3: { nmse: 1e-3, worst: 1 },
    i8: { nmse: 1e-3, worst: 0.3 },
  },
});
