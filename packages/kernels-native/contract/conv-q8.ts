import { type AttrSpec, ints, type Rule, type TensorSpec } from "./define-op";
import { QUANTIZED } from "./dtype";
import { epilogueAttrs, epilogueInputs, keepsChannels } from "./epilogue";
import { add, attr, convOut, ge } from "./expr";

const paddingOf = (axis: number) => add(attr("padding", 2 * axis), attr("padding", 2 * axis + 1));
const out = (size: string, kernel: string, axis: number) =>
  convOut(size, kernel, attr("stride", axis), paddingOf(axis));
const covers = (size: string, kernel: string, axis: number) => ({
  where: size,
  test: ge(add(size, paddingOf(axis)), kernel),
  expected: "a padded size of at least the kernel's",
  got: add(size, paddingOf(axis)),
});

/** The operands of a convolution in 8 bits. */
export const convQ8Inputs = {
  x: { dims: ["B", "F", "H", "W", "C"], dtype: QUANTIZED, doc: "activations" },
  xScale: { dims: [{ oneOr: "B" }, 1, 1, 1], dtype: ["f32"], doc: "of the activations: one, or one for each clip" },
  weight: {
    dims: ["K", "C", "T", "R", "S"],
    dtype: QUANTIZED,
    constant: true,
    doc: "filters in the checkpoint's layout, in the type of x",
  },
  weightScale: { dims: [{ oneOr: "K" }, 1], dtype: ["f32"], constant: true, doc: "of the filters" },
  ...epilogueInputs(["B", "G", "P", "Q", "K"], "K", "G"),
} as const satisfies Record<string, TensorSpec>;

/** Its attributes. */
export const convQ8Attrs = {
  stride: ints("steps in frames, height, width", 3, { min: 1, max: 64, default: [1, 1, 1] }),
  padding: ints("zeros at front, back, top, bottom, left, right", 6, { max: 64, default: [0, 0, 0, 0, 0, 0] }),
  ...epilogueAttrs,
} as const satisfies Record<string, AttrSpec>;

/** Sizes of its result. */
export const convQ8Derived = { G: out("F", "T", 0), P: out("H", "R", 1), Q: out("W", "S", 2) };

/** What those must fulfil. */
export const convQ8Rules: readonly Rule[] = [
  covers("F", "T", 0),
  covers("H", "R", 1),
  covers("W", "S", 2),
  keepsChannels,
];
