import { type AttrSpec, type CostScope, float, type TensorSpec } from "./define-op";
import { FLOATS } from "./dtype";
import { epilogueAttrs, epilogueInputs } from "./epilogue";
import { tokenNormInputs } from "./layer-norm";

/** The operands of a linear layer in float8 that normalises and rounds its tokens first. */
export const layerNormLinearQ8Inputs = {
  x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "tokens" },
  normScale: {
    dims: [1, 1, 1, 1],
    dtype: ["f32"],
    doc: "what codes of the normalised tokens stand for multiples of; finite and positive",
  },
  weight: { dims: ["N", "C"], dtype: ["f8e4m3"], constant: true, doc: "codes, one row per output column" },
  weightScale: {
    dims: [{ oneOr: "N" }, 1],
    dtype: ["f32"],
    constant: true,
    doc: "of the weight: one, or one for each row",
  },
  ...tokenNormInputs,
  ...epilogueInputs(["B", "F", "S", "K"], "N", "F"),
} as const satisfies Record<string, TensorSpec>;

/** Its attributes. */
export const layerNormLinearQ8Attrs = {
  eps: float("added to the variance", undefined, { min: 0 }),
  ...epilogueAttrs,
} as const satisfies Record<string, AttrSpec>;

/** What it costs. */
export const layerNormLinearQ8Cost = ({ B, F, S, C, N }: CostScope) => ({ flops: 2 * B! * F! * S! * C! * N! });
