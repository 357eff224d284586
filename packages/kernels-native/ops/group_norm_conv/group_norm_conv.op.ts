import {
  add,
  and,
  attr,
  choose,
  defineOp,
  epilogueAttrs,
  epilogueInputs,
  eq,
  FLOATS,
  ge,
  ints,
  keepsChannels,
  mod,
  oneOf,
  or,
  POINTWISE_ACTIVATIONS,
  sub,
} from "../../contract/op-kit";

const padding = add(attr("temporalPadding", 0), attr("temporalPadding", 1));
const padded = add("F", padding);
/** 3x1x1 filters where they reach over frames, else 3x3. */
const isKnown = choose(eq("T", 3), and(eq("R", 1), eq("S", 1)), and(eq("T", 1), and(eq("R", 3), eq("S", 3))));

export default defineOp({
  id: "group_norm_conv",
  summary:
    "Normalises the channel groups of a clip by given statistics and activates, as group_norm does, then convolves every frame with " +
    "3x3 filters, zeros around what is normalised, or each pixel's frames with 3x1x1 filters, a step of one, and applies the shared " +
    "epilogue, as conv does. Kernels need not put the normalised clip into memory.",
  formula: [
    "n = act((x − mean[g]) / √(variance[g] + eps) · normWeight[c] + normBias[c])",
    "3x3: sum[g,p,q,k] = Σ over r,s,c of n[g, p + r − 1, q + s − 1, c] · weight[k,c,0,r,s]",
    "3x1x1: sum[g,p,q,k] = Σ over t,c of n[g + t − pad, p, q, c] · weight[k,c,t,0,0]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "moments[g,k] = (mean, variance) of y[g,p,q,k] over p,q",
  ],
  source: ["https://arxiv.org/abs/1803.08494", "huggingface/diffusers@58eb52c src/diffusers/models/resnet.py"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    weight: { dims: ["K", "C", "T", "R", "S"], dtype: FLOATS, constant: true, doc: "filters, as in the checkpoint" },
    stats: {
      dims: ["B", { oneOr: "F" }, "N", 2],
      dtype: ["f32"],
      doc: "mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats",
    },
    normWeight: { dims: ["C"], dtype: FLOATS, constant: true, doc: "scale of the normalised channels" },
    normBias: { dims: ["C"], dtype: FLOATS, constant: true, doc: "shift of the normalised channels" },
    ...epilogueInputs(["B", "G", "H", "W", "K"], "K", "G"),
  },
  attrs: {
    normAct: oneOf("Activation", POINTWISE_ACTIVATIONS, "activation of the normalised channels", "none"),
    temporalPadding: ints("frames of zeros in front of what is normalised and behind it, for 3x1x1 filters", 2, {
      ...{ max: 1, default: [0, 0] },
    }),
    ...epilogueAttrs,
  },
  derived: { G: sub(padded, sub("T", 1)) },
  outputs: {
    y: {
      dims: ["B", "G", "H", "W", "K"],
      dtype: FLOATS,
      apart: ["x", "weight", "stats", "normWeight", "normBias"],
      doc: "result",
    },
    moments: {
      dims: ["B", "G", "K", 2],
      dtype: ["f32"],
      apart: "all",
      optional: true,
      doc: "mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them",
    },
  },
  rules: [
    { where: "weight", test: isKnown, expected: "1x3x3 or 3x1x1 filters", got: "R" },
    { where: "temporalPadding", test: or(eq("T", 3), eq(padding, 0)), expected: "none for 3x3 filters", got: padding },
    { where: "temporalPadding", test: ge(padded, "T"), expected: "padded frames for all filters", got: padded },
    {
      where: "stats",
      test: eq(mod("C", add("N", eq("N", 0))), 0),
      expected: "a number of groups that divides the channels",
      got: "N",
    },
    keepsChannels,
  ],
  cost: ({ B, G, H, W, C, K, T, R, S }) => ({ flops: 2 * B! * G! * H! * W! * K! * C! * T! * R! * S! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
