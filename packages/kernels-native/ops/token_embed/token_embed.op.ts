import { add, defineOp, FLOATS } from "../../contract/op-kit";

export default defineOp({
  id: "token_embed",
  summary: "Puts a learned token before the others and adds a position embedding to all of them.",
  formula: ["y[0] = token + position[0]", "y[s + 1] = x[s] + position[s + 1]"],
  source: ["https://arxiv.org/abs/2010.11929 eq. 1"],
  inputs: {
    x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "patch tokens" },
    token: { dims: ["C"], dtype: FLOATS, constant: true, doc: "the class token" },
    position: { dims: [add("S", 1), "C"], dtype: FLOATS, constant: true, doc: "position embeddings" },
  },
  attrs: {},
  outputs: { y: { dims: ["B", "F", add("S", 1), "C"], dtype: FLOATS, doc: "result" } },
  rules: [],
  cost: ({ B, F, S, C }) => ({ flops: B! * F! * S! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
