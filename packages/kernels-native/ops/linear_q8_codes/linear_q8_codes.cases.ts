import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import linearQ8Codes from "./linear_q8_codes.op";

type Case = CaseOf<typeof linearQ8Codes>;
type Inputs = Case["inputs"];

const TYPES = ["f8e4m3", "i8"] as const;
type Quantized = (typeof TYPES)[number];

/** Scales near 1/40: products of C channels have a deviation near √C. */
const scales = (dims: readonly number[]): Operand => ({ dims, fill: { mean: 0.025, deviation: 0.005 } });
const codes = (dims: readonly number[], dtype: Quantized, gap = 0): Operand => ({
  ...{ dims, dtype, gap },
  fill: { mean: 0, deviation: 40 },
});
const one = (value: number): Operand => ({ dims: [1, 1, 1, 1], fill: { values: [value] } });

interface Shape {
  name: string;
  x: readonly [number, number, number, number];
  rows: number;
  act?: "none" | "silu" | "geglu" | "swiglu";
  xScale?: readonly number[];
  weightScale?: readonly number[];
  gap?: number;
  outType?: Quantized;
  /** What codes stand for multiples of; default: as large as a gated result of such sums needs. */
  yScale?: number;
  more?: Partial<Case>;
}

/** A shape in both types. Default: a scale for each token and each row of the weight, geglu. */
const both = ({ name, x, rows, act = "geglu", gap = 0, more = {}, ...shape }: Shape): Case[] =>
  TYPES.map((dtype) => ({
    name: `${name}, ${dtype}`,
    outType: shape.outType ?? dtype,
    ...more,
    inputs: {
      x: codes(x, dtype, gap),
      xScale: scales(shape.xScale ?? [x[0], x[1], x[2], 1]),
      weight: codes([rows, x[3]], dtype),
      weightScale: scales(shape.weightScale ?? [rows, 1]),
      yScale: one(shape.yScale ?? (x[3] * 8) / ((shape.outType ?? dtype) === "i8" ? 127 : 448)),
      ...more.inputs,
    },
    attrs: { act, ...more.attrs },
  }));

const bias = (rows: number) => ({ inputs: { bias: [rows] } as Inputs });

const shapes: Shape[] = [
  { name: "1 token, 1 channel", x: [1, 1, 1, 1], rows: 2 },
  { name: "odd", x: [2, 3, 5, 7], rows: 22 },
  { name: "320 channels, 40 columns", x: [1, 2, 40, 320], rows: 80, more: bias(80) },
  { name: "320 channels, 128 tokens, 64 columns", x: [1, 1, 128, 320], rows: 128, more: bias(128) },
  { name: "640 channels, 77 tokens, 80 columns", x: [1, 1, 77, 640], rows: 160, more: bias(160) },
  { name: "640 channels, 3 frames of 211 tokens, 336 columns", x: [1, 3, 211, 640], rows: 672, more: bias(672) },
  { name: "1280 channels, 300 tokens, 144 columns", x: [1, 1, 300, 1280], rows: 288, more: bias(288) },
  { name: "1712 channels", x: [1, 1, 33, 1712], rows: 96, more: bias(96) },
  { name: "several tiles for each block of threads", x: [1, 1, 2200, 32], rows: 2048, more: bias(2048) },
  { name: "8 columns", x: [1, 1, 130, 64], rows: 16 },
  { name: "200 columns on gaps", x: [1, 1, 190, 256], rows: 400, gap: 16, more: { outGap: 8, ...bias(400) } },
  { name: "208 columns on gaps", x: [1, 1, 190, 256], rows: 416, gap: 16, more: { outGap: 16, ...bias(416) } },
  { name: "on odd gaps", x: [2, 2, 9, 13], rows: 42, gap: 3, more: { outGap: 5 } },
  { name: "one scale each", x: [2, 2, 90, 128], rows: 256, xScale: [1, 1, 1, 1], weightScale: [1, 1] },
  { name: "a scale for each frame", x: [2, 3, 70, 64], rows: 160, xScale: [1, 3, 1, 1] },
  { name: "blocks of tokens", x: [1, 1, 40, 192], rows: 64, xScale: [1, 1, 40, 2] },
  { name: "swiglu", x: [1, 1, 140, 192], rows: 384, act: "swiglu", more: bias(384) },
  { name: "numbers beyond the range", x: [1, 1, 140, 320], rows: 192, yScale: 0.01 },
  {
    name: "outScale, residual",
    x: [1, 2, 40, 320],
    rows: 80,
    more: { inputs: { bias: [80], residual: [1, 2, 40, 40] } as Inputs, attrs: { outScale: 0.5, residualScale: -2 } },
  },
  { name: "320 channels, 2 frames of 153 tokens, 144 columns", x: [1, 2, 153, 320], rows: 288, more: bias(288) },
  {
    name: "320 channels, one scale each",
    x: [1, 3, 101, 320],
    rows: 288,
    xScale: [1, 1, 1, 1],
    weightScale: [1, 1],
    more: bias(288),
  },
  { name: "320 channels, swiglu", x: [1, 1, 270, 320], rows: 288, act: "swiglu", more: bias(288) },
  {
    name: "one scale for all, several tiles for each block of threads",
    x: [1, 1, 1530, 64],
    rows: 1504,
    xScale: [1, 1, 1, 1],
    weightScale: [1, 1],
    more: bias(1504),
  },
  {
    name: "no activation, one scale for all, several tiles for each block of threads",
    x: [1, 1, 6000, 32],
    rows: 800,
    act: "none",
    xScale: [1, 1, 1, 1],
    weightScale: [1, 1],
    yScale: 0.1,
    more: bias(800),
  },
  { name: "outScale", x: [1, 1, 150, 320], rows: 160, more: { ...bias(160), attrs: { outScale: -0.5 } } },
  { name: "no activation", x: [1, 1, 140, 320], rows: 192, act: "none", yScale: 0.3, more: bias(192) },
  {
    name: "silu, everything",
    x: [2, 2, 9, 640],
    rows: 72,
    act: "silu",
    yScale: 0.5,
    more: {
      inputs: { bias: [72], frameBias: [2, 2, 72], residual: [2, 2, 9, 72], residual2: [2, 2, 9, 72] } as Inputs,
      attrs: { outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    },
  },
  { name: "few tokens of many channels", x: [1, 1, 19, 2688], rows: 200, act: "none", yScale: 0.5 },
  { name: "codes of the other type", x: [1, 1, 40, 320], rows: 80, outType: "i8", more: bias(80) },
];

const layer = (name: string, x: Shape["x"], rows: number, scales: Partial<Shape> = {}): Case => {
  const [made] = both({ name, x, rows, yScale: x[3] / 448, more: bias(rows), ...scales });
  return { ...made!, name };
};
/** As `precision: "fp8"` has them. */
const layerOfOneScale = (name: string, x: Shape["x"], rows: number, more: Partial<Shape> = {}): Case =>
  layer(`${name}, one scale`, x, rows, { xScale: [1, 1, 1, 1], weightScale: [1, 1], ...more });
/** Queries, keys and values. */
const projection: Partial<Shape> = { act: "none", yScale: 2, more: {} };

export default defineCases(linearQ8Codes, {
  correctness: shapes.flatMap(both),
  bench: [
    layer("svd-xt.unet.down0.attn0.spatial.ff.gate", [2, 25, 9216, 320], 2560),
    layer("svd-xt.unet.down1.attn0.spatial.ff.gate", [2, 25, 2304, 640], 5120),
    layer("svd-xt.unet.down2.attn0.spatial.ff.gate", [2, 25, 576, 1280], 10240),
    layer("svd-xt.unet.mid.attn0.spatial.ff.gate", [2, 25, 144, 1280], 10240),
    layerOfOneScale("svd-xt.unet.down0.attn0.spatial.ff.gate", [2, 25, 9216, 320], 2560),
    layerOfOneScale("svd-xt.unet.down1.attn0.spatial.ff.gate", [2, 25, 2304, 640], 5120),
    layerOfOneScale("svd-xt.unet.down2.attn0.spatial.ff.gate", [2, 25, 576, 1280], 10240),
    layerOfOneScale("svd-xt.unet.down1.attn0.spatial.qkv", [2, 25, 2304, 640], 1920, projection),
    layerOfOneScale("svd-xt.unet.down2.attn0.temporal.qkv", [2, 25, 576, 1280], 3840, projection),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    ...both({ name: "one-core.640 to 2560, geglu", x: [1, 1, 576, 640], rows: 5120, more: bias(5120) }),
  ],
});
