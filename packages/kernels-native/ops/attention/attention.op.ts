import {
  and,
  attentionAttrs,
  attentionLengths,
  attentionMasks,
  attentionOperands,
  attentionRules,
  attr,
  defineOp,
  div,
  eq,
  FLOATS,
  float,
  ge,
  mod,
  oneOf,
  present,
} from "../../contract/op-kit";

const head = div("E", attr("heads"));

export default defineOp({
  id: "attention",
  summary:
    "Computes softmax(scale · q kᵀ + mask) v per head, over the tokens of each frame or over the frames of each token; " +
    "q and k may be normalised and rotated before. Rows without any allowed key give 0 and a log-sum-exp of −∞. A " +
    "score that is NaN or +∞ makes its row NaN.",
  formula: [
    "score[i,j] = scale · q[i] · k[j] + mask[i,j], for the keys j that query i sees",
    "y[i] = Σⱼ exp(score[i,j] − lse[i]) · v[j]",
    "lse[i] = ln Σⱼ exp(score[i,j])",
  ],
  source: [
    "https://arxiv.org/abs/2205.14135",
    "pytorch/pytorch torch/nn/functional.py scaled_dot_product_attention",
    "https://arxiv.org/abs/2104.09864",
    "https://arxiv.org/abs/1910.07467",
  ],
  inputs: {
    ...attentionOperands,
    ...attentionMasks,
    normQ: {
      dims: [head],
      dtype: FLOATS,
      optional: true,
      constant: true,
      doc: "each head of q is divided by its root mean square and multiplied by this",
    },
    normK: { dims: [head], dtype: FLOATS, optional: true, constant: true, doc: "the same for k" },
    rotaryQ: {
      dims: ["Q", "R"],
      dtype: ["f32"],
      optional: true,
      doc: "cosine and sine of R/2 angles per query, by which pairs of the first R channels of each head are rotated, after the norm",
    },
    rotaryK: { dims: ["K", "R"], dtype: ["f32"], optional: true, doc: "the same per key" },
  },
  attrs: {
    ...attentionAttrs,
    pairs: oneOf(
      "RotaryPairs",
      ["adjacent", "halves"],
      "channels that are rotated together: 2i and 2i + 1, or i and i + R/2",
      "adjacent",
    ),
    normEps: float("added to the mean square of a head", 1e-6, { min: 0 }),
  },
  derived: attentionLengths,
  outputs: {
    y: { dims: ["B", "F", "S", "E"], dtype: FLOATS, halfOnCpu: true, apart: "all", doc: "result" },
    lse: {
      dims: ["B", "F", attr("heads"), "S"],
      dtype: ["f32"],
      apart: "all",
      optional: true,
      doc: "natural log-sum-exp of the masked, scaled scores",
    },
  },
  rules: [
    ...attentionRules,
    {
      where: "rotaryQ",
      test: eq(present("rotaryQ"), present("rotaryK")),
      expected: "rotaryQ and rotaryK both or neither",
      got: present("rotaryQ"),
    },
    {
      where: "rotaryQ",
      test: and(eq(mod("R", 2), 0), ge(head, "R")),
      expected: "an even number of columns, at most the head dimension",
      got: "R",
    },
  ],
  cost: ({ B, F, S, E, L, Fk, axis }) => ({ flops: 4 * B! * F! * S! * E! * (axis === 1 ? Fk! : L!) }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
