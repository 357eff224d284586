import { attr, defineOp, div, eq, FLOATS, ints, mod, mul } from "../../contract/op-kit";

const volume = mul(attr("block", 0), mul(attr("block", 1), attr("block", 2)));

const wholeBlocks = (size: string, axis: number) => ({
  where: "x",
  test: eq(mod(size, attr("block", axis)), 0),
  expected: `${size} to be a multiple of the block`,
  got: size,
});

export default defineOp({
  id: "space_to_depth",
  summary: "Moves frames, height and width into channels: channel = c · block + (dt · bh + dy) · bw + dx.",
  formula: ["y[f, h, w, c·block + (dt·bh + dy)·bw + dx] = x[f·bt + dt, h·bh + dy, w·bw + dx, c]"],
  source: ["https://arxiv.org/abs/1609.05158"],
  inputs: { x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" } },
  attrs: { block: ints("shrinkage of frames, height, width", 3, { min: 1, max: 16 }) },
  outputs: {
    y: {
      dims: ["B", div("F", attr("block", 0)), div("H", attr("block", 1)), div("W", attr("block", 2)), mul("C", volume)],
      dtype: FLOATS,
      apart: ["x"],
      doc: "result",
    },
  },
  rules: [wholeBlocks("F", 0), wholeBlocks("H", 1), wholeBlocks("W", 2)],
  cost: () => ({ flops: 0 }),
  tolerance: { f32: { nmse: 0, worst: 0 }, f16: { nmse: 0, worst: 0 }, bf16: { nmse: 0, worst: 0 } },
});
