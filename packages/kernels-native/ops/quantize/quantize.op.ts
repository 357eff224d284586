import { add, attr, choose, defineOp, div, eq, FLOATS, oneOf, QUANTIZED } from "../../contract/op-kit";

const SCALES = ["tensor", "row", "block"] as const;
const isTensor = eq(attr("per"), 0);
const isBlock = eq(attr("per"), 2);

export default defineOp({
  id: "quantize",
  summary:
    "Rounds numbers to 8 bits with one scale for the tensor, for each token, or for each block of 128 channels of a token: " +
    "y = round(x · (1 / scale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8), every operation rounded to float32. " +
    "A scale that is not given is the largest magnitude of what it is for, divided by 448 or 127, at least 2^-126. NaN " +
    "counts for no largest magnitude; it stays NaN in f8e4m3 and becomes 0 in i8.",
  formula: ["scale = max(largest |x| / (448 or 127), 2⁻¹²⁶), unless it is given", "y = round(x · (1 / scale))"],
  source: ["https://arxiv.org/abs/2209.05433", "https://arxiv.org/abs/2412.19437"],
  inputs: {
    x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "tokens, or rows of a weight" },
    scale: {
      dims: ["SB", "SF", "SS", "SG"],
      dtype: ["f32"],
      optional: true,
      doc: "scales that are known, as from calibration; finite and positive",
    },
  },
  attrs: { per: oneOf("ScalesPer", SCALES, "what has a scale of its own", "tensor") },
  derived: {
    SB: choose(isTensor, 1, "B"),
    SF: choose(isTensor, 1, "F"),
    SS: choose(isTensor, 1, "S"),
    SG: choose(isBlock, div(add("C", 127), 128), 1),
  },
  outputs: {
    y: { dims: ["B", "F", "S", "C"], dtype: QUANTIZED, apart: ["x"], doc: "codes; f8e4m3 unless `out` is i8" },
    scales: { dims: ["SB", "SF", "SS", "SG"], dtype: ["f32"], optional: true, doc: "what y is to be multiplied with" },
  },
  rules: [],
  cost: ({ B, F, S, C }) => ({ flops: 2 * B! * F! * S! * C! }),
  // Both sides round in the same places: nothing may differ.
  tolerance: {
    f32: { nmse: 0, worst: 0 },
    f16: { nmse: 0, worst: 0 },
    bf16: { nmse: 0, worst: 0 },
    f8e4m3: { nmse: 0, worst: 0 },
    i8: { nmse: 0, worst: 0 },
  },
});
