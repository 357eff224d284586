import { add, attr, convOut, defineOp, FLOATS, ge, ints, mul, oneOf, type Rule } from "../../contract/op-kit";

const SIDES = ["front", "back", "top", "bottom", "left", "right"] as const;
const out = (size: string, axis: number) =>
  convOut(
    size,
    attr("kernel", axis),
    attr("stride", axis),
    add(attr("padding", 2 * axis), attr("padding", 2 * axis + 1)),
  );
/** As in PyTorch: then no window lies in the padding alone. */
const paddingRules = SIDES.map(
  (_, side): Rule => ({
    where: "padding",
    test: ge(attr("kernel", side >> 1), mul(2, attr("padding", side))),
    expected: "at most half of the kernel on every side",
    got: attr("padding", side),
  }),
);

export default defineOp({
  id: "pool",
  summary:
    "Takes the largest number, or the average, of a window that slides over frames, height and width. Padding never is the " +
    "largest; in averages it counts as zeros or not at all.",
  formula: [
    "max: y = the largest x of the window",
    "average: y = Σ x of the window / the window's elements that count",
  ],
  source: ["pytorch/pytorch aten/src/ATen/native/Pool.h, AveragePool3d.cpp, DilatedMaxPool3d.cpp"],
  inputs: { x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" } },
  attrs: {
    mode: oneOf("PoolMode", ["max", "average"], "what is taken of a window"),
    kernel: ints("frames, height and width of a window", 3, { min: 1, max: 64 }),
    stride: ints("steps of the window in frames, height and width", 3, { min: 1, max: 64, default: [1, 1, 1] }),
    padding: ints("before and behind frames, height and width", 6, { max: 32, default: [0, 0, 0, 0, 0, 0] }),
    countIncludePad: { kind: "bool", doc: "averages count padding as zeros; else they leave it out", default: true },
  },
  outputs: {
    y: { dims: ["B", out("F", 0), out("H", 1), out("W", 2), "C"], dtype: FLOATS, apart: ["x"], doc: "result" },
  },
  rules: paddingRules,
  cost: ({ B, F, H, W, C }) => ({ flops: B! * F! * H! * W! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
