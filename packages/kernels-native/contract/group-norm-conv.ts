import { type AttrSpec, type CostScope, ints, oneOf, type Rule, type TensorSpec } from "./define-op";
import { FLOATS } from "./dtype";
import { epilogueAttrs, keepsChannels, POINTWISE_ACTIVATIONS } from "./epilogue";
import { add, and, attr, choose, eq, ge, mod, or, sub } from "./expr";

const padding = add(attr("temporalPadding", 0), attr("temporalPadding", 1));
const padded = add("F", padding);
/** 3x1x1 filters where they reach over frames, else 3x3. */
const isKnown = choose(eq("T", 3), and(eq("R", 1), eq("S", 1)), and(eq("T", 1), and(eq("R", 3), eq("S", 3))));

/** How the source of a convolution is normalised by given statistics. */
export const groupNormConvInputs = {
  stats: {
    dims: ["B", { oneOr: "F" }, "N", 2],
    dtype: ["f32"],
    doc: "mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats",
  },
  normWeight: { dims: ["C"], dtype: FLOATS, constant: true, doc: "scale of the normalised channels" },
  normBias: { dims: ["C"], dtype: FLOATS, constant: true, doc: "shift of the normalised channels" },
} as const satisfies Record<string, TensorSpec>;

/** The attributes of a norm of channel groups and the convolution behind it. */
export const groupNormConvAttrs = {
  normAct: oneOf("Activation", POINTWISE_ACTIVATIONS, "activation of the normalised channels", "none"),
  temporalPadding: ints("frames of zeros in front of what is normalised and behind it, for 3x1x1 filters", 2, {
    ...{ max: 1, default: [0, 0] },
  }),
  ...epilogueAttrs,
} as const satisfies Record<string, AttrSpec>;

/** Sizes of the result. */
export const groupNormConvDerived = { G: sub(padded, sub("T", 1)) };

/** The moments of the result. */
export const groupNormConvMoments = {
  dims: ["B", "G", "K", 2],
  dtype: ["f32"],
  apart: "all",
  optional: true,
  doc: "mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them",
} as const satisfies TensorSpec;

/** What operands and attributes must fulfil. */
export const groupNormConvRules: readonly Rule[] = [
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
];

/** What it costs. */
export const groupNormConvCost = ({ B, G, H, W, C, K, T, R, S }: CostScope) => ({
  flops: 2 * B! * G! * H! * W! * K! * C! * T! * R! * S!,
});
