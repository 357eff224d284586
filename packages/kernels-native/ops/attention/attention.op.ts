import { and, attr, bool, defineOp, eq, FLOATS, float, int, mod, oneOf, or, present } from "../../contract/op-kit";

const overTime = eq(attr("axis"), 1);
const overSpace = eq(attr("axis"), 0);

export default defineOp({
  id: "attention",
  summary:
    "Computes softmax(scale · q kᵀ + mask) v per head, over the tokens of each frame or over the frames of each token; " +
    "rows without any allowed key give 0.",
  source: ["https://arxiv.org/abs/2205.14135", "pytorch/pytorch torch/nn/functional.py scaled_dot_product_attention"],
  inputs: {
    q: { dims: ["B", "F", "S", "E"], dtype: FLOATS, doc: "queries, heads side by side" },
    k: {
      dims: ["B", "Fk", "L", "E"],
      dtype: FLOATS,
      doc: "keys; over space one frame serves all frames; over time Fk is the number of keys and L = S",
    },
    v: { dims: ["B", "Fk", "L", "E"], dtype: FLOATS, doc: "values" },
    mask: {
      dims: [{ oneOr: "B" }, { oneOr: attr("heads") }, "S", "L"],
      dtype: ["f32", "f16", "u8"],
      optional: true,
      halfOnCpu: true,
      doc: "over space only: floats are added to the scaled scores, a u8 of 0 forbids",
    },
    cuQ: {
      dims: ["N1"],
      dtype: ["i32"],
      optional: true,
      offsets: { into: "S" },
      doc: "offsets of packed sequences in S, N + 1 of them",
    },
    cuK: {
      dims: ["N1"],
      dtype: ["i32"],
      optional: true,
      offsets: { into: "L" },
      doc: "offsets of packed sequences in L",
    },
  },
  attrs: {
    axis: oneOf("AttentionAxis", ["space", "time"], "what a sequence runs over", "space"),
    heads: int("number of heads; E is a multiple", { min: 1, max: 4096 }),
    scale: float("factor of the scores, usually 1/sqrt(head dimension)"),
    causal: bool("row r sees keys 0..r, aligned top-left"),
  },
  outputs: {
    y: { dims: ["B", "F", "S", "E"], dtype: FLOATS, doc: "result" },
    lse: {
      dims: ["B", "F", attr("heads"), "S"],
      dtype: ["f32"],
      optional: true,
      doc: "natural log-sum-exp of the masked, scaled scores",
    },
  },
  rules: [
    { where: "heads", test: eq(mod("E", attr("heads")), 0), expected: "a divisor of the channels", got: attr("heads") },
    {
      where: "k",
      test: or(overTime, or(eq("Fk", 1), eq("Fk", "F"))),
      expected: "1 frame or as many as q over space",
      got: "Fk",
    },
    { where: "k", test: or(overSpace, eq("L", "S")), expected: "as many tokens as q over time", got: "L" },
    {
      where: "mask",
      test: or(overSpace, eq(present("mask"), 0)),
      expected: "no mask over time",
      got: present("mask"),
    },
    {
      where: "cuQ",
      test: eq(present("cuQ"), present("cuK")),
      expected: "cuQ and cuK both or neither",
      got: present("cuQ"),
    },
    {
      where: "cuQ",
      test: or(
        eq(present("cuQ"), 0),
        and(overSpace, and(eq("B", 1), and(eq("F", 1), and(eq("Fk", 1), eq(present("mask"), 0))))),
      ),
      expected: "one clip of one frame, over space, without mask, for packed sequences",
      got: "B",
    },
  ],
  cost: ({ B, F, S, E, L, Fk, axis }) => ({ flops: 4 * B! * F! * S! * E! * (axis === 1 ? Fk! : L!) }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
