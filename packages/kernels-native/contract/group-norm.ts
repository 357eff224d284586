import { type AttrSpec, bool, float, int, oneOf, type Rule, type TensorSpec } from "./define-op";
import { FLOATS } from "./dtype";
import { divides, keepsChannels, POINTWISE_ACTIVATIONS } from "./epilogue";
import { add, attr, choose } from "./expr";

/** The operands of a norm of channel groups. */
export const groupNormInputs = {
  x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
  x2: { dims: ["B", "F", "H", "W", "C2"], dtype: FLOATS, optional: true, doc: "further channels after those of x" },
  weight: { dims: [add("C", "C2")], dtype: FLOATS, constant: true, doc: "scale" },
  bias: { dims: [add("C", "C2")], dtype: FLOATS, constant: true, doc: "shift" },
  stats: {
    dims: ["B", choose(attr("joinFrames"), 1, "F"), attr("groups"), 2],
    dtype: ["f32"],
    optional: true,
    doc: "mean and 1/sqrt(variance + eps), if computed before by group_norm_stats",
  },
} as const satisfies Record<string, TensorSpec>;

/** The attributes of a norm of channel groups. */
export const groupNormAttrs = {
  groups: int("number of channel groups", { min: 1, max: 65536 }),
  eps: float("added to the variance", undefined, { min: 0 }),
  act: oneOf("Activation", POINTWISE_ACTIVATIONS, "activation of the result", "none"),
  joinFrames: bool("statistics over F, H, W instead of H, W"),
} as const satisfies Record<string, AttrSpec>;

/** What those must fulfil. */
export const groupNormRules: readonly Rule[] = [divides("groups", add("C", "C2")), keepsChannels];
