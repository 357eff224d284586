import {
  convFlops,
  covers,
  filterCount,
  sizeAlong,
  sizeOrDoubled,
  transposed,
  transposedAttr,
  transposedRules,
} from "./conv";
import { type AttrSpec, type CostScope, ints, type Rule, type TensorSpec } from "./define-op";
import { QUANTIZED } from "./dtype";
import { epilogueAttrs, epilogueInputs, keepsChannels } from "./epilogue";
import { choose, eq } from "./expr";

/** Channels of x that the filters are for. */
const filtered = choose(transposed, "M", "D");

/** The operands of a convolution in 8 bits. */
export const convQ8Inputs = {
  x: { dims: ["B", "F", "H", "W", "C"], dtype: QUANTIZED, doc: "activations" },
  xScale: { dims: [{ oneOr: "B" }, 1, 1, 1], dtype: ["f32"], doc: "of the activations: one, or one for each clip" },
  weight: {
    dims: ["M", "D", "T", "R", "S"],
    dtype: QUANTIZED,
    constant: true,
    doc: "filters in the checkpoint's layout, in the type of x: [K,C,T,R,S], or transposed [C,K,1,4,4]",
  },
  weightScale: {
    dims: [{ oneOr: "K" }, 1],
    dtype: ["f32"],
    constant: true,
    doc: "of the filters: one, or one for each output channel",
  },
  ...epilogueInputs(["B", "G", "P", "Q", "K"], "K", "G"),
} as const satisfies Record<string, TensorSpec>;

/** Its attributes. */
export const convQ8Attrs = {
  stride: ints("steps in frames, height, width", 3, { min: 1, max: 64, default: [1, 1, 1] }),
  padding: ints("zeros at front, back, top, bottom, left, right", 6, { max: 64, default: [0, 0, 0, 0, 0, 0] }),
  ...epilogueAttrs,
  transposed: transposedAttr,
} as const satisfies Record<string, AttrSpec>;

/** Sizes of its result. */
export const convQ8Derived = {
  K: filterCount,
  G: sizeAlong(0, "F", "T"),
  P: sizeOrDoubled(1, "H", "R"),
  Q: sizeOrDoubled(2, "W", "S"),
};

/** What those must fulfil. */
export const convQ8Rules: readonly Rule[] = [
  { where: "weight", test: eq(filtered, "C"), expected: "filters for all channels of x", got: filtered },
  covers(0, "F", "T"),
  covers(1, "H", "R"),
  covers(2, "W", "S"),
  ...transposedRules,
  keepsChannels,
];

/** What it costs. */
export const convQ8Cost = (sizes: CostScope) => ({ flops: convFlops(sizes) });
