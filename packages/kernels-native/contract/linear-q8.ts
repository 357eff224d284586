import type { Rule, TensorSpec } from "./define-op";
import { QUANTIZED } from "./dtype";
import { epilogueInputs, gatedColumns, halvesWhereGated } from "./epilogue";
import { add, div } from "./expr";

/** The operands of a linear layer in 8 bits. */
export const linearQ8Inputs = {
  x: { dims: ["B", "F", "S", "C"], dtype: QUANTIZED, doc: "tokens" },
  xScale: {
    dims: [{ oneOr: "B" }, { oneOr: "F" }, { oneOr: "S" }, { oneOr: "G" }],
    dtype: ["f32"],
    doc: "of the tokens, as quantize makes them",
  },
  weight: { dims: ["N", "C"], dtype: QUANTIZED, constant: true, doc: "one row per output column, in the type of x" },
  weightScale: {
    dims: [{ oneOr: "N" }, { oneOr: "G" }],
    dtype: ["f32"],
    constant: true,
    doc: "of the weight's rows, or of blocks of 128 channels of them",
  },
  ...epilogueInputs(["B", "F", "S", "K"], "N", "F"),
} as const satisfies Record<string, TensorSpec>;

/** Blocks of 128 channels, and channels of the result. */
export const linearQ8Derived = { G: div(add("C", 127), 128), K: gatedColumns };

/** What those must fulfil. */
export const linearQ8Rules: readonly Rule[] = [halvesWhereGated];
