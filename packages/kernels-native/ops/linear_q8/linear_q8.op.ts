import {
  add,
  choose,
  defineOp,
  div,
  epilogueAttrs,
  epilogueInputs,
  eq,
  FLOATS,
  isGated,
  mod,
  or,
  QUANTIZED,
} from "../../contract/op-kit";

export default defineOp({
  id: "linear_q8",
  summary:
    "Multiplies tokens with a weight matrix, both in 8 bits of one type with scales, and applies the shared epilogue: " +
    "y = tail(Σ over blocks of 128 channels of xScale · weightScale · Σ x · weight). Scales that are the same for all " +
    "blocks are applied once. Sums of float8 products are added up in float32 after at most 640 channels, so that the " +
    "error does not grow with their number; sums of integers are exact. Gated activations as in linear.",
  formula: [
    "sum[s,n] = Σ over blocks g of xScale[s,g] · weightScale[n,g] · Σ over c in g of x[s,c] · weight[n,c]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: ["https://arxiv.org/abs/2209.05433", "https://arxiv.org/abs/2412.19437", "https://arxiv.org/abs/2002.05202"],
  inputs: {
    x: { dims: ["B", "F", "S", "C"], dtype: QUANTIZED, doc: "tokens" },
    xScale: {
      dims: [{ oneOr: "B" }, { oneOr: "F" }, { oneOr: "S" }, { oneOr: "G" }],
      dtype: ["f32"],
      doc: "of the tokens, as quantize makes them",
    },
    weight: { dims: ["N", "C"], dtype: QUANTIZED, constant: true, doc: "one row per output column, in the type of x" },
    weightScale: {
      dims: [{ oneOr: "N" }, { oneOr: "G" }],
      dtype: ["f32"],
      constant: true,
      doc: "of the weight's rows, or of blocks of 128 channels of them",
    },
    ...epilogueInputs(["B", "F", "S", "K"], "N", "F"),
  },
  attrs: { ...epilogueAttrs },
  derived: { G: div(add("C", 127), 128), K: choose(isGated, div("N", 2), "N") },
  outputs: {
    y: {
      dims: ["B", "F", "S", "K"],
      dtype: FLOATS,
      apart: ["x", "weight"],
      doc: "result; f32 unless `out` is of another type",
    },
  },
  rules: [
    {
      where: "weight",
      test: or(eq(isGated, 0), eq(mod("N", 2), 0)),
      expected: "an even number of rows for geglu and swiglu",
      got: "N",
    },
  ],
  cost: ({ B, F, S, C, N }) => ({ flops: 2 * B! * F! * S! * C! * N! }),
  // Tensor cores keep about 14 bits of sums of float8 products.
  tolerance: {
    f32: { nmse: 1e-12, worst: 2e-5 },
    i8: { nmse: 1e-12, worst: 2e-5 },
    f8e4m3: { nmse: 1e-5, worst: 2e-2 },
    f16: { nmse: 1e-5, worst: 2e-2 },
    bf16: { nmse: 1e-4, worst: 6e-2 },
  },
});
