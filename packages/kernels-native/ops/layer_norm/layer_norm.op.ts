import { defineOp, FLOATS, float } from "../../contract/op-kit";

export default defineOp({
  id: "layer_norm",
  summary: "Normalises each token over its channels.",
  source: ["https://arxiv.org/abs/1607.06450"],
  inputs: {
    x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "tokens" },
    weight: { dims: ["C"], dtype: FLOATS, constant: true, doc: "scale" },
    bias: { dims: ["C"], dtype: FLOATS, constant: true, doc: "shift" },
  },
  attrs: { eps: float("added to the variance", undefined, { min: 0 }) },
  outputs: { y: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "result" } },
  rules: [],
  cost: ({ B, F, S, C }) => ({ flops: 8 * B! * F! * S! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
