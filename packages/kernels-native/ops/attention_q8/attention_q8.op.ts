import { attr, defineOp, eq, FLOATS, float, int, mod, oneOf, or } from "../../contract/op-kit";

export default defineOp({
  id: "attention_q8",
  summary:
    "Computes softmax(scale · q kᵀ) v per head over the tokens of each frame, with q and k, and v too unless `values` is " +
    "full, rounded to 8 bits as quantize does it with a scale for each frame and head. Tensor cores also round scores of float8 to " +
    "float16, and probabilities that multiply 8-bit values to a scale of logarithms relative to their running maximum; sums of " +
    "probabilities are of the rounded ones.",
  formula: [
    "q̂, k̂, v̂ = what is left of q, k and v of each frame and head after rounding to 8 bits",
    "y[i] = Σⱼ softmaxⱼ(scale · q̂[i] · k̂[j]) · v̂[j]",
  ],
  source: ["https://arxiv.org/abs/2205.14135", "https://arxiv.org/abs/2407.08608", "https://arxiv.org/abs/2410.02367"],
  inputs: {
    q: { dims: ["B", "F", "S", "E"], dtype: FLOATS, doc: "queries, heads side by side" },
    k: { dims: ["B", "Fk", "L", "E"], dtype: FLOATS, doc: "keys; one frame may serve all frames" },
    v: { dims: ["B", "Fk", "L", "E"], dtype: FLOATS, doc: "values" },
  },
  attrs: {
    heads: int("number of heads; E is a multiple", { min: 1, max: 4096 }),
    scale: float("factor of the scores, usually 1/sqrt(head dimension)"),
    scores: oneOf("AttentionScores", ["f8e4m3", "i8"], "what q and k are rounded to", "f8e4m3"),
    values: oneOf("AttentionValues", ["f8e4m3", "full"], "what v is rounded to; full: it is not", "f8e4m3"),
  },
  outputs: { y: { dims: ["B", "F", "S", "E"], dtype: FLOATS, apart: "all", doc: "result" } },
  rules: [
    { where: "heads", test: eq(mod("E", attr("heads")), 0), expected: "a divisor of the channels", got: attr("heads") },
    { where: "k", test: or(eq("Fk", 1), eq("Fk", "F")), expected: "one frame, or as many as q has", got: "Fk" },
  ],
  cost: ({ B, F, S, E, L }) => ({ flops: 4 * B! * F! * S! * E! * L! }),
  // Probabilities in float8 have 3 bits of mantissa; their errors average out over the keys.
  tolerance: { f32: { nmse: 1e-10, worst: 2e-4 }, f16: { nmse: 3e-3, worst: 0.5 }, bf16: { nmse: 3e-3, worst: 0.5 } },
});
