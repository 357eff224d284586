import { attr, bool, defineOp, FLOATS, int, oneOf } from "../../contract/op-kit";

export default defineOp({
  id: "resize",
  summary:
    "Resizes height and width by nearest neighbour (source index = floor(index · in/out) in float32), bilinear or " +
    "bicubic (A = −0.75) interpolation without antialiasing.",
  formula: [
    "nearest: y[p,q] = x[⌊p · H / height⌋, ⌊q · W / width⌋]",
    "bilinear, bicubic: y[p,q] = Σ over i,j of w(u − i) · w(v − j) · x[i,j], u = (p + ½) · H / height − ½, v alike;",
    "  with alignCorners u = p · (H − 1) / (height − 1)",
  ],
  source: ["pytorch/pytorch aten/src/ATen/native/UpSample.h"],
  inputs: { x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" } },
  attrs: {
    height: int("rows of the result", { min: 1, max: 65536 }),
    width: int("columns of the result", { min: 1, max: 65536 }),
    mode: oneOf("ResizeMode", ["nearest", "bilinear", "bicubic"], "interpolation", "nearest"),
    alignCorners: bool("the corners' centres coincide (bilinear and bicubic)"),
  },
  outputs: { y: { dims: ["B", "F", attr("height"), attr("width"), "C"], dtype: FLOATS, apart: ["x"], doc: "result" } },
  rules: [],
  cost: ({ B, F, C, height, width }) => ({ flops: 8 * B! * F! * height! * width! * C! }),
  // Source positions may be float32 or float64.
  tolerance: { f32: { nmse: 1e-11, worst: 5e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
