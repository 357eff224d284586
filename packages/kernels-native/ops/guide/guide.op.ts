import { defineOp, eq, FLOATS } from "../../contract/op-kit";

export default defineOp({
  id: "guide",
  summary: "Classifier-free guidance per frame: y = unconditional + scale[f] · (conditional − unconditional).",
  formula: ["y[f] = x₀[f] + scale[f] · (x₁[f] − x₀[f])"],
  source: ["https://arxiv.org/abs/2207.12598 eq. 6"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "predictions, the unconditional row first" },
    scale: { dims: ["F"], dtype: ["f32"], doc: "guidance per frame" },
  },
  attrs: {},
  outputs: { y: { dims: [1, "F", "H", "W", "C"], dtype: FLOATS, doc: "guided prediction" } },
  rules: [{ where: "x", test: eq("B", 2), expected: "two rows: unconditional, conditional", got: "B" }],
  cost: ({ F, H, W, C }) => ({ flops: 3 * F! * H! * W! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
