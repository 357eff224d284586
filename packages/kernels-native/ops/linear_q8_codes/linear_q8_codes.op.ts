import {
  defineOp,
  epilogueAttrs,
  linearQ8Derived,
  linearQ8Inputs,
  linearQ8Rules,
  QUANTIZED,
} from "../../contract/op-kit";

export default defineOp({
  id: "linear_q8_codes",
  summary:
    "Multiplies tokens as linear_q8 does and rounds the result to 8 bits with one scale that is known before, so that a " +
    "linear layer in 8 bits follows without a pass of its own: y = round(linear_q8(x) · (1 / yScale)), ties to even, " +
    "saturating at ±448 (f8e4m3) or ±127 (i8).",
  formula: [
    "sum[s,n] = Σ over blocks g of xScale[s,g] · weightScale[n,g] · Σ over c in g of x[s,c] · weight[n,c]",
    "v = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "y = round(v · (1 / yScale))",
  ],
  source: ["https://arxiv.org/abs/2209.05433", "https://arxiv.org/abs/2002.05202"],
  inputs: {
    ...linearQ8Inputs,
    yScale: { dims: [1, 1, 1, 1], dtype: ["f32"], doc: "what codes stand for multiples of; finite and positive" },
  },
  attrs: { ...epilogueAttrs },
  derived: linearQ8Derived,
  outputs: {
    y: {
      dims: ["B", "F", "S", "K"],
      dtype: QUANTIZED,
      apart: ["x", "weight"],
      doc: "codes, in the type of x unless `out` is of the other one",
    },
  },
  rules: linearQ8Rules,
  cost: ({ B, F, S, C, N }) => ({ flops: 2 * B! * F! * S! * C! * N! }),
  // A number beside a tie may go to either code: one of 127, or an eighth of a number, of which the largest are eight times the deviation.
  tolerance: {
    f32: { nmse: 1e-3, worst: 0.3 },
    f8e4m3: { nmse: 1e-3, worst: 1 },
    i8: { nmse: 1e-3, worst: 0.3 },
  },
});
