import {
  defineOp,
  eq,
  FLOATS,
  float,
  keepsChannels,
  oneOf,
  or,
  POINTWISE_ACTIVATIONS,
  present,
} from "../../contract/op-kit";

export default defineOp({
  id: "pointwise",
  summary: "Combines up to three tensors element by element: act(aScale · a + bScale · b · c + frameBias).",
  formula: ["y = act(aScale · a + bScale · b · c + frameBias)"],
  source: ["huggingface/diffusers@58eb52c src/diffusers/models/activations.py"],
  inputs: {
    a: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "first operand" },
    b: { dims: ["B", "F", "S", "C"], dtype: FLOATS, optional: true, doc: "second operand" },
    c: { dims: ["B", "F", "S", "C"], dtype: FLOATS, optional: true, doc: "factor of the second operand" },
    frameBias: {
      dims: [{ oneOr: "B" }, { oneOr: "F" }, "C"],
      dtype: FLOATS,
      optional: true,
      doc: "added per clip, frame and channel",
    },
  },
  attrs: {
    aScale: float("factor of a", 1),
    bScale: float("factor of b", 1),
    act: oneOf("Activation", POINTWISE_ACTIVATIONS, "activation of the sum", "none"),
  },
  outputs: { y: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "result" } },
  rules: [
    keepsChannels,
    {
      where: "c",
      test: or(present("b"), eq(present("c"), 0)),
      expected: "b where c is given",
      got: present("c"),
    },
  ],
  cost: ({ B, F, S, C }) => ({ flops: 4 * B! * F! * S! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
