import { type CaseOf, defineCases, epilogueCases, type Operand } from "../../contract/define-case";
import layerNormLinearQ8 from "./layer_norm_linear_q8.op";

type Case = CaseOf<typeof layerNormLinearQ8>;
type Inputs = Case["inputs"];
type Dims = readonly [number, number, number, number];

interface Shape {
  name: string;
  x: Dims;
  rows: number;
  /** Default: one for each row of the weight. */
  weightScale?: readonly number[];
  /** Whether the norm has weight and bias; default true. */
  isAffine?: boolean;
  more?: Partial<Case>;
}

/** A layer behind a norm. */
const layer = ({ name, x, rows, weightScale = [rows, 1], isAffine = true, more = {} }: Shape): Case => ({
  name,
  ...more,
  inputs: {
    x,
    // Leaves room for 8 deviations.
    normScale: { dims: [1, 1, 1, 1], fill: { values: [0.02] } },
    weight: { dims: [rows, x[3]], dtype: "f8e4m3", fill: { mean: 0, deviation: 40 } },
    weightScale: { dims: weightScale, fill: { mean: 0.025, deviation: 0.005 } },
    ...(isAffine && { normWeight: [x[3]], normBias: [x[3]] }),
    ...more.inputs,
  },
  attrs: { eps: 1e-5, ...more.attrs },
});

const bias = (rows: number) => ({ inputs: { bias: [rows] } as Inputs });
const everything: Partial<Case> = {
  inputs: {
    x: { dims: [1, 2, 45, 320], gap: 8 },
    bias: [160],
    frameBias: [1, 2, 160],
    residual: [1, 2, 45, 160],
    residual2: [1, 2, 45, 160],
  } as Inputs,
  attrs: { outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
  outGap: 8,
};
const around = (dims: Dims, mean: number, deviation: number): Operand => ({ dims, fill: { mean, deviation } });

const shapes: Shape[] = [
  { name: "1 token, 1 channel", x: [1, 1, 1, 1], rows: 1, more: bias(1) },
  { name: "odd", x: [2, 3, 5, 7], rows: 11 },
  { name: "64 channels", x: [1, 2, 9, 64], rows: 48 },
  { name: "640 channels", x: [1, 1, 33, 640], rows: 136, more: bias(136) },
  { name: "64 channels, geglu", x: [1, 2, 9, 64], rows: 48, more: { attrs: { act: "geglu" } } },
  { name: "320 channels, one tile", x: [1, 1, 128, 320], rows: 160, more: bias(160) },
  { name: "320 channels to 960", x: [1, 2, 75, 320], rows: 960, more: bias(960) },
  { name: "320 channels, 5 tokens, 168 columns", x: [1, 1, 5, 320], rows: 168 },
  { name: "320 channels, one scale for the weight", x: [1, 3, 47, 320], rows: 168, weightScale: [1, 1] },
  { name: "320 channels, more tokens than blocks take at once", x: [2, 1, 17000, 320], rows: 160 },
  { name: "320 channels, silu", x: [1, 1, 70, 320], rows: 80, more: { attrs: { act: "silu" } } },
  { name: "320 channels, geglu", x: [1, 1, 70, 320], rows: 160, more: { attrs: { act: "geglu" } } },
  {
    ...{ name: "320 channels, a residual", x: [1, 1, 200, 320], rows: 320 },
    more: {
      inputs: { bias: [320], residual: [1, 1, 200, 320] } as Inputs,
      attrs: { outScale: 0.5, residualScale: -2 },
    },
  },
  { name: "320 channels, everything, on gaps", x: [1, 2, 45, 320], rows: 160, more: everything },
  { name: "320 channels, neither weight nor bias of the norm", x: [1, 1, 65, 320], rows: 168, isAffine: false },
  {
    ...{ name: "320 channels, a large mean beside small deviations", x: [1, 1, 70, 320], rows: 160 },
    more: { inputs: { x: around([1, 1, 70, 320], 20, 0.5) } as Inputs },
  },
  {
    ...{ name: "320 channels, tokens of one number", x: [1, 1, 70, 320], rows: 160 },
    more: { inputs: { x: around([1, 1, 70, 320], -2, 0), bias: [160] } as Inputs },
  },
];

const epilogue = epilogueCases({ out: [2, 3, 6, 40], rows: 40 }).map(
  (each): Shape => ({
    ...{ name: each.name, x: [2, 3, 6, 16], rows: 40 },
    more: { attrs: each.attrs, inputs: each.inputs as Inputs },
  }),
);

export default defineCases(layerNormLinearQ8, {
  correctness: [...shapes, ...epilogue].map(layer),
  bench: [
    layer({
      ...{ name: "svd-xt.unet.down0.attn0.spatial.norm1.qkv", x: [2, 25, 9216, 320], rows: 960 },
      more: bias(960),
    }),
  ],
});
