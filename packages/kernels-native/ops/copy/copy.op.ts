import { defineOp, FLOATS } from "../../contract/op-kit";

export default defineOp({
  id: "copy",
  summary: "Copies tokens into another element type or pixel pitch.",
  formula: ["y = x"],
  source: ["https://pytorch.org/docs/stable/generated/torch.Tensor.copy_.html"],
  inputs: { x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "source" } },
  attrs: {},
  outputs: { y: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "result, rounded to nearest even" } },
  rules: [],
  cost: () => ({ flops: 0 }),
  tolerance: { f32: { nmse: 0, worst: 0 }, f16: { nmse: 0, worst: 0 }, bf16: { nmse: 0, worst: 0 } },
});
