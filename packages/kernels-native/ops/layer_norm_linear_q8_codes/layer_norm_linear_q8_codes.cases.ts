import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import layerNormLinearQ8Codes from "./layer_norm_linear_q8_codes.op";

type Case = CaseOf<typeof layerNormLinearQ8Codes>;
type Inputs = Case["inputs"];
type Dims = readonly [number, number, number, number];

const one = (value: number): Operand => ({ dims: [1, 1, 1, 1], fill: { values: [value] } });
/** Scales near 1/40: products of C channels of normalised tokens have a deviation near √C. */
const scales = (dims: readonly number[]): Operand => ({ dims, fill: { mean: 0.025, deviation: 0.005 } });

interface Shape {
  name: string;
  x: Dims;
  rows: number;
  act?: "none" | "silu" | "geglu" | "swiglu";
  /** Default: one for the weight. */
  weightScale?: readonly number[];
  /** Whether the norm has weight and bias; default true. */
  isAffine?: boolean;
  more?: Partial<Case>;
}

/** A layer behind a norm; default: geglu. */
const layer = ({ name, x, rows, act = "geglu", weightScale = [1, 1], isAffine = true, more = {} }: Shape): Case => ({
  name,
  outType: "f8e4m3",
  ...more,
  inputs: {
    x,
    // Leaves room for 8 deviations, and the result for those of such sums.
    normScale: one(0.02),
    weight: { dims: [rows, x[3]], dtype: "f8e4m3", fill: { mean: 0, deviation: 40 } },
    weightScale: scales(weightScale),
    ...(isAffine && { normWeight: [x[3]], normBias: [x[3]] }),
    yScale: one((x[3] * 8) / 448),
    ...more.inputs,
  },
  attrs: { eps: 1e-5, act, ...more.attrs },
});

const bias = (rows: number) => ({ inputs: { bias: [rows] } as Inputs });

const shapes: Shape[] = [
  { name: "1 token, 1 channel", x: [1, 1, 1, 1], rows: 2, more: bias(2) },
  { name: "odd", x: [2, 3, 5, 7], rows: 22 },
  { name: "64 channels, no activation", x: [1, 2, 9, 64], rows: 48, act: "none" },
  { name: "640 channels", x: [1, 1, 33, 640], rows: 160, more: bias(160) },
  { name: "320 channels, 40 columns", x: [1, 2, 40, 320], rows: 80, more: bias(80) },
  { name: "320 channels, one tile", x: [1, 1, 128, 320], rows: 128, more: bias(128) },
  { name: "320 channels, 5 tokens, 336 columns", x: [1, 1, 5, 320], rows: 672, more: bias(672) },
  { name: "320 channels, 330 tokens, 328 columns", x: [1, 3, 110, 320], rows: 656, more: bias(656) },
  { name: "320 channels, no activation, 208 columns", x: [1, 1, 40, 320], rows: 208, act: "none", more: bias(208) },
  { name: "320 channels, no activation, 960 columns", x: [1, 2, 165, 320], rows: 960, act: "none" },
  {
    name: "320 channels, no activation, several tiles",
    x: [1, 1, 300, 320],
    rows: 400,
    act: "none",
    more: bias(400),
  },
  { name: "320 channels, swiglu", x: [1, 1, 257, 320], rows: 656, act: "swiglu", more: bias(656) },
  { name: "320 channels, more tokens than blocks take at once", x: [2, 1, 17000, 320], rows: 128 },
  { name: "320 channels, scales of rows", x: [1, 1, 70, 320], rows: 160, weightScale: [160, 1], more: bias(160) },
  { name: "320 channels, silu", x: [1, 1, 70, 320], rows: 80, act: "silu", more: bias(80) },
  {
    name: "320 channels, everything, on gaps",
    x: [1, 2, 45, 320],
    rows: 160,
    more: {
      inputs: {
        x: { dims: [1, 2, 45, 320], gap: 8 },
        bias: [160],
        frameBias: [1, 2, 160],
        residual: [1, 2, 45, 80],
        residual2: [1, 2, 45, 80],
      } as Inputs,
      attrs: { outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
      outGap: 16,
    },
  },
  {
    name: "320 channels, on gaps",
    x: [1, 1, 65, 320],
    rows: 128,
    more: {
      inputs: { x: { dims: [1, 1, 65, 320], gap: 8 }, bias: [128] } as Inputs,
      outGap: 16,
      attrs: { outScale: 0.5 },
    },
  },
  {
    name: "320 channels, neither weight nor bias of the norm",
    x: [1, 1, 65, 320],
    rows: 128,
    isAffine: false,
  },
  {
    name: "320 channels, a large mean beside small deviations",
    x: [1, 1, 70, 320],
    rows: 128,
    more: { inputs: { x: { dims: [1, 1, 70, 320], fill: { mean: 20, deviation: 0.5 } } } as Inputs },
  },
  {
    name: "320 channels, tokens of one number",
    x: [1, 1, 70, 320],
    rows: 128,
    more: { inputs: { x: { dims: [1, 1, 70, 320], fill: { mean: -2, deviation: 0 } }, bias: [128] } as Inputs },
  },
];

export default defineCases(layerNormLinearQ8Codes, {
  correctness: shapes.map(layer),
  bench: [
    layer({
      ...{ name: "svd-xt.unet.down0.attn0.spatial.norm3.ff.gate", x: [2, 25, 9216, 320], rows: 2560 },
      more: bias(2560),
    }),
    layer({ name: "svd-xt.unet.down0.attn0.spatial.qkv", x: [2, 25, 9216, 320], rows: 960, act: "none" }),
  ],
});
