import { type CaseOf, defineCases, epilogueCases, type Operand } from "../../contract/define-case";
import linearQ8 from "./linear_q8.op";

type Case = CaseOf<typeof linearQ8>;
type Inputs = Case["inputs"];

const TYPES = ["f8e4m3", "i8"] as const;
type Quantized = (typeof TYPES)[number];

/** Scales near 1/40: results are of the size of products of ordinary numbers. */
const scales = (dims: readonly number[]): Operand => ({ dims, fill: { mean: 0.025, deviation: 0.005 } });
const codes = (dims: readonly number[], dtype: Quantized, gap = 0): Operand => ({
  ...{ dims, dtype, gap },
  fill: { mean: 0, deviation: 40 },
});

interface Shape {
  name: string;
  x: readonly [number, number, number, number];
  rows: number;
  xScale?: readonly number[];
  weightScale?: readonly number[];
  gap?: number;
  more?: Partial<Case>;
}

/** A shape in both types. Default: a scale for each token and each row of the weight. */
const both = ({ name, x, rows, xScale, weightScale, gap = 0, more = {} }: Shape): Case[] =>
  TYPES.map((dtype) => ({
    name: `${name}, ${dtype}`,
    ...more,
    inputs: {
      x: codes(x, dtype, gap),
      xScale: scales(xScale ?? [x[0], x[1], x[2], 1]),
      weight: codes([rows, x[3]], dtype),
      weightScale: scales(weightScale ?? [rows, 1]),
      ...more.inputs,
    },
  }));

const shapes: Shape[] = [
  { name: "1 token, 1 channel", x: [1, 1, 1, 1], rows: 1 },
  { name: "odd", x: [2, 3, 5, 7], rows: 11 },
  { name: "multiples of 16", x: [1, 2, 32, 64], rows: 48 },
  { name: "one scale each", x: [2, 2, 9, 64], rows: 33, xScale: [1, 1, 1, 1], weightScale: [1, 1] },
  { name: "a scale for each frame", x: [2, 3, 9, 64], rows: 40, xScale: [1, 3, 1, 1] },
  { name: "a scale for each clip", x: [3, 2, 5, 32], rows: 16, xScale: [3, 1, 1, 1], weightScale: [16, 1] },
  { name: "one more than 128", x: [1, 1, 129, 129], rows: 33 },
  { name: "many tokens", x: [1, 3, 211, 48], rows: 20 },
  { name: "many columns", x: [1, 1, 9, 320], rows: 264, more: { inputs: { bias: [264] } as Inputs } },
  { name: "on gaps", x: [2, 2, 9, 48], rows: 24, gap: 16, more: { outGap: 8 } },
  { name: "on odd gaps", x: [2, 2, 9, 13], rows: 21, gap: 3, more: { outGap: 5 } },
  {
    name: "5 blocks",
    x: [1, 2, 65, 640],
    rows: 40,
    more: { inputs: { bias: [40], residual: [1, 2, 65, 40] } as Inputs },
  },
  { name: "10 blocks, one sum", x: [1, 2, 135, 1280], rows: 168, more: { inputs: { bias: [168] } as Inputs } },
  { name: "10 blocks, geglu", x: [1, 1, 135, 1280], rows: 272, more: { attrs: { act: "geglu" } } },
  { name: "13 blocks and a part", x: [1, 2, 33, 1712], rows: 24, more: { inputs: { bias: [24] } as Inputs } },
  { name: "14 blocks, silu", x: [1, 1, 9, 1792], rows: 24, more: { attrs: { act: "silu" } } },
  {
    name: "41 blocks and a part",
    x: [2, 1, 37, 5264],
    rows: 24,
    more: {
      inputs: { bias: [24], frameBias: [2, 1, 24], residual: [2, 1, 37, 24], residual2: [2, 1, 37, 24] } as Inputs,
      attrs: { act: "silu", outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    },
  },
  { name: "21 blocks, 200 rows on gaps", x: [1, 1, 19, 2688], rows: 200, gap: 16, more: { outGap: 8 } },
  {
    name: "12 blocks of tokens and rows",
    x: [1, 2, 33, 1488],
    rows: 40,
    xScale: [1, 2, 33, 12],
    weightScale: [40, 12],
  },
  { name: "blocks of tokens and rows", x: [1, 2, 33, 384], rows: 72, xScale: [1, 2, 33, 3], weightScale: [72, 3] },
  { name: "blocks of tokens", x: [2, 1, 35, 272], rows: 24, xScale: [2, 1, 35, 3] },
  { name: "blocks of rows", x: [1, 1, 9, 300], rows: 19, weightScale: [19, 3] },
  {
    name: "blocks, everything",
    x: [2, 2, 9, 320],
    rows: 72,
    xScale: [2, 2, 9, 3],
    weightScale: [72, 3],
    more: {
      inputs: { bias: [72], frameBias: [2, 2, 72], residual: [2, 2, 9, 72], residual2: [2, 2, 9, 72] } as Inputs,
      attrs: { act: "silu", outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    },
  },
  {
    name: "320 channels, geglu",
    x: [1, 2, 40, 320],
    rows: 80,
    more: {
      inputs: { bias: [80], residual: [1, 2, 40, 40] } as Inputs,
      attrs: { act: "geglu", outScale: 0.5, residualScale: -2 },
    },
  },
  { name: "768 channels, geglu", x: [1, 1, 9, 768], rows: 144, more: { attrs: { act: "geglu" } } },
  { name: "geglu of 14", x: [2, 2, 6, 10], rows: 14, more: { attrs: { act: "geglu" } } },
  { name: "geglu in blocks", x: [1, 1, 40, 192], rows: 64, xScale: [1, 1, 40, 2], more: { attrs: { act: "geglu" } } },
  { name: "swiglu of 384", x: [1, 1, 20, 192], rows: 384, more: { attrs: { act: "swiglu" } } },
];

const epilogue = epilogueCases({ out: [2, 3, 7, 24], rows: 24 }).flatMap((each) =>
  both({
    name: each.name,
    x: [2, 3, 7, 48],
    rows: 24,
    more: { attrs: each.attrs, inputs: each.inputs as Inputs },
  }),
);

const places: Case[] = TYPES.flatMap((dtype): Case[] => {
  const base = { x: codes([2, 3, 4, 16], dtype), xScale: scales([1, 1, 1, 1]), weightScale: scales([19, 1]) };
  return [
    { name: `weight at byte 1, ${dtype}`, inputs: { ...base, weight: { ...codes([19, 16], dtype), shiftBytes: 1 } } },
    {
      name: `x at byte 3, ${dtype}`,
      inputs: { ...base, x: { ...base.x, shiftBytes: 3 }, weight: codes([19, 16], dtype) },
    },
    {
      name: `weight at odd rows, ${dtype}`,
      inputs: { ...base, x: codes([2, 3, 4, 9], dtype, 7), weight: codes([19, 9], dtype) },
    },
  ];
});

/** A timed shape; results in the timing's own type. */
const layer = (name: string, x: Shape["x"], rows: number, dtype: Quantized, more: Partial<Case> = {}): Case => ({
  name: `${name}, ${dtype}`,
  inputs: {
    x: { dims: x, dtype, fill: { mean: 0, deviation: 40 } },
    xScale: scales([x[0], x[1], x[2], 1]),
    weight: { dims: [rows, x[3]], dtype, fill: { mean: 0, deviation: 40 } },
    weightScale: scales([rows, 1]),
    ...more.inputs,
  },
  attrs: more.attrs ?? {},
});
const onto = (out: number[], bias: number): Partial<Case> => ({ inputs: { residual: out, bias: [bias] } as Inputs });

export default defineCases(linearQ8, {
  correctness: [...shapes.flatMap(both), ...epilogue, ...places],
  bench: TYPES.flatMap((dtype) => [
    layer("8192 cubed", [1, 1, 8192, 8192], 8192, dtype),
    {
      ...layer("8192 cubed in blocks", [1, 1, 8192, 8192], 8192, dtype),
      inputs: {
        ...layer("", [1, 1, 8192, 8192], 8192, dtype).inputs,
        xScale: scales([1, 1, 8192, 64]),
        weightScale: scales([8192, 64]),
      },
    },
    layer("svd-xt.unet.down0.attn0.spatial.qkv", [2, 25, 9216, 320], 960, dtype),
    layer("svd-xt.unet.down0.attn0.spatial.ff.gate", [2, 25, 9216, 320], 2560, dtype, { attrs: { act: "geglu" } }),
    layer("svd-xt.unet.down0.attn0.spatial.ff.out", [2, 25, 9216, 1280], 320, dtype, onto([2, 25, 9216, 320], 320)),
    layer("svd-xt.unet.down1.attn0.spatial.ff.out", [2, 25, 2304, 2560], 640, dtype, onto([2, 25, 2304, 640], 640)),
    layer("svd-xt.unet.mid.attn0.spatial.ff.out", [2, 25, 144, 5120], 1280, dtype, onto([2, 25, 144, 1280], 1280)),
    layer("unet-chain.first.down3.attention.ff.out", [1, 2, 64, 6144], 1536, dtype, onto([1, 2, 64, 1536], 1536)),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    layer("one-core.1280 to 1280", [1, 1, 1152, 1280], 1280, dtype),
  ]),
});
