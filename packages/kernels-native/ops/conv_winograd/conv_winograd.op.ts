import {
  add,
  attr,
  choose,
  defineOp,
  epilogueAttrs,
  epilogueInputs,
  eq,
  FLOATS,
  ge,
  keepsChannels,
  mod,
  oneOf,
  or,
  POINTWISE_ACTIVATIONS,
} from "../../contract/op-kit";

/** Statistics are given: x is normalised first. */
const isNormed = ge("N", 1);
const channels = add("C", "C2");
const normChannels = choose(isNormed, channels, 0);

export default defineOp({
  id: "conv_winograd",
  summary:
    "Convolves every frame of a channels-last clip with 3x3 filters, a step of one and a border of zeros, and applies the shared " +
    "epilogue, as conv does; before that it may normalise channel groups by given statistics and apply an activation, as " +
    "group_norm does, also of two inputs side by side. Kernels may use Winograd's F(4x4, 3x3), which needs a quarter of the " +
    "products; in float16 its error is about five times that of rounding the result. On the CPU, and where a GPU has no kernel " +
    "for it, the convolution is computed as conv does.",
  formula: [
    "n = statistics are given ? act((x − mean[g]) / √(variance[g] + eps) · normWeight[c] + normBias[c]) : x",
    "sum[p,q,k] = Σ over r,s,c of n[p + r − 1, q + s − 1, c] · weight[k,c,r,s]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
  ],
  source: [
    "https://arxiv.org/abs/1509.09308",
    "https://arxiv.org/abs/1803.10986 (which points the transforms of larger tiles want)",
  ],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    x2: {
      dims: ["B", "F", "H", "W", "C2"],
      dtype: FLOATS,
      optional: true,
      doc: "further channels after those of x, where statistics are given",
    },
    weight: {
      dims: ["K", channels, 1, 3, 3],
      dtype: FLOATS,
      constant: true,
      doc: "filters, as in the checkpoint",
    },
    stats: {
      dims: ["B", { oneOr: "F" }, "N", 2],
      dtype: ["f32"],
      optional: true,
      doc: "mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats",
    },
    normWeight: {
      dims: ["M"],
      dtype: FLOATS,
      optional: true,
      constant: true,
      doc: "scale of the normalised channels, [C + C2], where statistics are given",
    },
    normBias: {
      dims: ["L"],
      dtype: FLOATS,
      optional: true,
      constant: true,
      doc: "shift of the normalised channels, [C + C2], where statistics are given",
    },
    ...epilogueInputs(["B", "F", "H", "W", "K"], "K", "F"),
  },
  attrs: {
    normAct: oneOf("Activation", POINTWISE_ACTIVATIONS, "activation of the normalised channels", "none"),
    ...epilogueAttrs,
  },
  outputs: {
    y: {
      dims: ["B", "F", "H", "W", "K"],
      dtype: FLOATS,
      apart: ["x", "x2", "weight", "stats", "normWeight", "normBias"],
      doc: "result",
    },
  },
  rules: [
    { where: "x2", test: or(isNormed, eq("C2", 0)), expected: "statistics with further channels", got: "C2" },
    {
      where: "normWeight",
      test: eq("M", normChannels),
      expected: "one factor a channel with stats, none without",
      got: "M",
    },
    {
      where: "normBias",
      test: eq("L", normChannels),
      expected: "one summand a channel with stats, none without",
      got: "L",
    },
    {
      where: "stats",
      test: or(eq("N", 0), eq(mod(channels, add("N", eq("N", 0))), 0)),
      expected: "a number of groups that divides the channels",
      got: "N",
    },
    {
      where: "normAct",
      test: or(isNormed, eq(attr("normAct"), 0)),
      expected: "none where no statistics are given",
      got: attr("normAct"),
    },
    keepsChannels,
  ],
  cost: ({ B, F, H, W, C, C2, K }) => ({ flops: 2 * B! * F! * H! * W! * K! * (C! + C2!) * 9 }),
  // The transforms' own error in float16 is 1.6e-3 of the results' deviation.
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-5, worst: 3e-2 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
