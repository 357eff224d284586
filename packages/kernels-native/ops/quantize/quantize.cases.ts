import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import quantize from "./quantize.op";

type Case = CaseOf<typeof quantize>;

const wide = { mean: 0, deviation: 30 };
const known = { mean: 0.05, deviation: 0.01 };

/** Both types of a case, with the scales as a second result where they are not known. */
const both = (name: string, x: Operand, more: Partial<Case> = {}): Case[] =>
  (["f8e4m3", "i8"] as const).map((outType) => ({
    name: `${name}, ${outType}`,
    outType,
    ...more,
    inputs: { x, ...more.inputs },
    ...(more.inputs?.scale ? {} : { also: ["scales"] }),
  }));

const shapes = [
  { dims: [1, 1, 1, 1] },
  { dims: [2, 3, 5, 7], fill: wide },
  { dims: [1, 2, 9, 128] },
  { dims: [2, 1, 17, 320], fill: wide },
  { dims: [1, 1, 3, 129], gap: 7 },
  { dims: [1, 1, 130, 256], gap: 16 },
  { dims: [1, 2, 64, 1536], fill: wide },
  { dims: [1, 2, 259, 1024], fill: wide },
];

/** Ties between neighbours, subnormals, both ends of the range and beyond, zeros of both signs. */
const special = [
  0,
  -0,
  1,
  -1,
  1.0625,
  1.1875,
  -1.0625,
  448,
  464,
  -464,
  500,
  1e30,
  2 ** -9,
  2 ** -10,
  3 * 2 ** -10,
  2 ** -11,
];
const specialInts = [0, 0.5, 1.5, -0.5, -2.5, 126.5, 127.5, -127.5, 128, 1e30, -1e30, 3.49, 2 ** -130];
const one = { dims: [1, 1, 1, 1], fill: { values: [1] } };

export default defineCases(quantize, {
  correctness: [
    ...shapes.flatMap((x) =>
      (["tensor", "row", "block"] as const).flatMap((per) =>
        both(`${x.dims.join("x")}${x.gap ? " on gaps" : ""} per ${per}`, x, { attrs: { per } }),
      ),
    ),
    ...both("known scale", { dims: [2, 3, 5, 7] }, { inputs: { scale: { dims: [1, 1, 1, 1], fill: known } } }),
    ...both(
      "known scales of rows",
      { dims: [2, 3, 5, 64] },
      { inputs: { scale: { dims: [2, 3, 5, 1], fill: known } }, attrs: { per: "row" }, outGap: 3 },
    ),
    ...both(
      "known scales of blocks",
      { dims: [1, 3, 5, 300] },
      { inputs: { scale: { dims: [1, 3, 5, 3], fill: known } }, attrs: { per: "block" }, outGap: 20 },
    ),
    ...both("zeros", { dims: [1, 1, 2, 16], fill: { values: [0] } }, { attrs: { per: "row" } }),
    ...both(
      "tiny numbers",
      { dims: [1, 1, 2, 16], fill: { values: [1e-42, -3e-41, 1e-44] } },
      { attrs: { per: "row" } },
    ),
    {
      name: "ties and ends, f8e4m3",
      outType: "f8e4m3",
      inputs: { x: { dims: [1, 1, 1, 16], fill: { values: special } }, scale: one },
    },
    {
      name: "ties and ends, i8",
      outType: "i8",
      inputs: { x: { dims: [1, 1, 1, 13], fill: { values: specialInts } }, scale: one },
    },
  ],
  bench: [
    {
      name: "svd-xt.unet.down0.attn0.spatial.ff.out.x",
      inputs: { x: [2, 25, 9216, 1280] },
      attrs: { per: "row" },
      also: ["scales"],
    },
    {
      name: "svd-xt.unet.down1.res0.conv1.x",
      inputs: { x: [2, 25, 2304, 640] },
      attrs: { per: "tensor" },
      also: ["scales"],
    },
    {
      name: "unet-chain.first.down2.conv.x",
      inputs: { x: [1, 2, 256, 768] },
      attrs: { per: "tensor" },
      also: ["scales"],
    },
    {
      name: "8192 rows of 8192 in blocks",
      inputs: { x: [1, 1, 8192, 8192] },
      attrs: { per: "block" },
      also: ["scales"],
    },
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    ...both("one-core.tokens of 640, a scale for each", { dims: [1, 1, 4608, 640] }, { attrs: { per: "row" } }),
    ...both("one-core.tokens of 640, one scale", { dims: [1, 1, 4608, 640] }, { attrs: { per: "tensor" } }),
  ],
});
