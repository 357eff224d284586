import { defineOp, FLOATS, float } from "../../contract/op-kit";

export default defineOp({
  id: "layout_in",
  summary: "Turns planes [B,F,C,H,W] into channels-last pixels: y = scale · x + shift.",
  formula: ["y[b,f,h,w,c] = scale · x[b,f,c,h,w] + shift"],
  source: ["https://pytorch.org/tutorials/intermediate/memory_format_tutorial.html"],
  inputs: { x: { dims: ["B", "F", "C", "H", "W"], dtype: FLOATS, doc: "planes" } },
  attrs: { scale: float("factor", 1), shift: float("added", 0) },
  outputs: { y: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, apart: ["x"], doc: "pixels" } },
  rules: [],
  cost: ({ B, F, C, H, W }) => ({ flops: 2 * B! * F! * C! * H! * W! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
