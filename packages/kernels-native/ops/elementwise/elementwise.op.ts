import { defineOp, enums, FLOATS, floats, type TensorSpec } from "../../contract/op-kit";
import {
  ELEMENTWISE_CONSTANTS,
  ELEMENTWISE_INSTRUCTIONS,
  ELEMENTWISE_MAX_LENGTH,
  elementwiseRules,
  elementwiseSizes,
} from "./instructions";

const broadcast = {
  dims: [{ oneOr: "B" }, { oneOr: "F" }, { oneOr: "S" }, { oneOr: "C" }],
  dtype: FLOATS,
  optional: true,
} as const satisfies Omit<TensorSpec, "doc">;

export default defineOp({
  id: "elementwise",
  summary:
    "Computes a small expression of up to four tensors and constants for each element, in float32 and in one pass over " +
    "memory. The expression is a program in postfix order for a stack of at most four numbers: a to d and k0 to k3 put an " +
    "operand or a constant on it, functions replace what they take. silu(a + b · c) is a, b, c, mul, add, silu. NaN stays NaN, but " +
    "min and max give the other number, relu 0. The function elementwise() of @vd/tensor writes such programs.",
  formula: ["y = code(a, b, c, d, k0, …), for each element"],
  source: ["https://docs.pytorch.org/docs/stable/torch.html#pointwise-ops"],
  inputs: {
    a: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "first operand, of the result's shape" },
    b: { ...broadcast, doc: "second operand" },
    c: { ...broadcast, doc: "third operand" },
    d: { ...broadcast, doc: "fourth operand" },
  },
  attrs: {
    code: enums("Instruction", ELEMENTWISE_INSTRUCTIONS, "the program", ELEMENTWISE_MAX_LENGTH),
    constants: floats("k0, k1, …", ELEMENTWISE_CONSTANTS.length),
  },
  derived: elementwiseSizes,
  outputs: { y: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "result" } },
  rules: elementwiseRules,
  cost: ({ B, F, S, C, computing }) => ({ flops: computing! * B! * F! * S! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
