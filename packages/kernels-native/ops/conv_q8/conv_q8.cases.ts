import { type CaseOf, defineCases, epilogueCases, type Operand } from "../../contract/define-case";
import convQ8 from "./conv_q8.op";

type Case = CaseOf<typeof convQ8>;
type Pads = [number, number, number, number, number, number];

const TYPES = ["f8e4m3", "i8"] as const;
type Quantized = (typeof TYPES)[number];

const around = (frames: number, rows: number, columns = rows): Pads => [frames, frames, rows, rows, columns, columns];
const scales = (dims: readonly number[]): Operand => ({ dims, fill: { mean: 0.025, deviation: 0.005 } });
const codes = (dims: readonly number[], dtype: Quantized): Operand => ({
  ...{ dims, dtype },
  fill: { mean: 0, deviation: 40 },
});

interface Shape {
  name: string;
  x: readonly number[];
  weight: readonly number[];
  gap?: number;
  more?: Partial<Case>;
}

/** A shape in both types, with a scale for each filter. */
const both = ({ name, x, weight, gap = 0, more = {} }: Shape): Case[] =>
  TYPES.map((dtype) => ({
    name: `${name}, ${dtype}`,
    ...more,
    inputs: {
      x: { ...codes(x, dtype), gap },
      xScale: scales([1, 1, 1, 1]),
      weight: codes(weight, dtype),
      weightScale: scales([more.attrs?.transposed ? weight[1]! : weight[0]!, 1]),
      ...more.inputs,
    },
  }));

const shapes: Shape[] = [
  { name: "1x1", x: [2, 3, 5, 7, 32], weight: [16, 32, 1, 1, 1] },
  { name: "1x1 of one channel", x: [1, 1, 3, 5, 1], weight: [1, 1, 1, 1, 1] },
  { name: "1x1 with a step of 2", x: [1, 2, 5, 7, 9], weight: [5, 9, 1, 1, 1], more: { attrs: { stride: [1, 2, 2] } } },
  { name: "3x3", x: [2, 2, 9, 14, 16], weight: [24, 16, 1, 3, 3], more: { attrs: { padding: around(0, 1) } } },
  {
    name: "3x3 from 7 to 13",
    x: [1, 2, 6, 7, 7],
    weight: [13, 7, 1, 3, 3],
    more: { attrs: { padding: around(0, 1) } },
  },
  {
    name: "3x3 of 160 channels on gaps, a scale for each clip",
    x: [2, 1, 5, 9, 160],
    weight: [24, 160, 1, 3, 3],
    gap: 16,
    more: {
      inputs: { xScale: scales([2, 1, 1, 1]), bias: [24], residual: [2, 1, 5, 9, 24] } as Case["inputs"],
      attrs: { padding: around(0, 1) },
      outGap: 8,
    },
  },
  {
    name: "3x3 with a step of 2",
    x: [1, 2, 9, 10, 48],
    weight: [24, 48, 1, 3, 3],
    more: { attrs: { padding: around(0, 1), stride: [1, 2, 2] } },
  },
  { name: "3x1x1", x: [2, 4, 3, 5, 144], weight: [24, 144, 3, 1, 1], more: { attrs: { padding: around(1, 0) } } },
  { name: "3x3x3", x: [1, 3, 4, 5, 32], weight: [24, 32, 3, 3, 3], more: { attrs: { padding: around(1, 1) } } },
  {
    name: "3x3, one scale for all filters",
    x: [1, 1, 7, 8, 64],
    weight: [32, 64, 1, 3, 3],
    more: { inputs: { weightScale: scales([1, 1]) } as Case["inputs"], attrs: { padding: around(0, 1) } },
  },
  {
    name: "3x3 of 384 filters over a blend, on gaps",
    x: [2, 3, 9, 23, 144],
    weight: [384, 144, 1, 3, 3],
    gap: 16,
    more: {
      inputs: {
        xScale: scales([2, 1, 1, 1]),
        bias: [384],
        frameBias: [2, 3, 384],
        residual: { dims: [2, 3, 9, 23, 384], gap: 8 },
        residual2: [2, 3, 9, 23, 384],
      } as Case["inputs"],
      attrs: { outScale: 0.5, residualScale: -2, residual2Scale: 0.25, padding: around(0, 1) },
      outGap: 8,
    },
  },
  // Few results of long reductions, which blocks of a cluster share.
  {
    name: "3x3 of 272 on a small map, everything",
    x: [2, 1, 5, 7, 272],
    weight: [40, 272, 1, 3, 3],
    more: {
      inputs: {
        xScale: scales([2, 1, 1, 1]),
        bias: [40],
        frameBias: [2, 1, 40],
        residual: { dims: [2, 1, 5, 7, 40], gap: 8 },
        residual2: [2, 1, 5, 7, 40],
      } as Case["inputs"],
      attrs: { act: "silu", outScale: 0.5, residualScale: -2, residual2Scale: 0.25, padding: around(0, 1) },
    },
  },
  {
    name: "3x3x3 of 400 on a small map",
    x: [1, 2, 3, 3, 400],
    weight: [24, 400, 3, 3, 3],
    more: { inputs: { bias: [24] } as Case["inputs"], attrs: { padding: around(1, 1) } },
  },
  {
    name: "3x3 of 208 with a step of 2 on a small map, 13 filters",
    x: [1, 3, 7, 6, 208],
    weight: [13, 208, 1, 3, 3],
    more: { attrs: { padding: around(0, 1), stride: [1, 2, 2] } },
  },
  { name: "1x1 of 1840 on a small map", x: [1, 1, 4, 4, 1840], weight: [280, 1840, 1, 1, 1], gap: 16 },
];

/** 3x3 filters of up to 128 channels, which fit into a block's memory; and short sums that no tile needs to promote. */
const stationary: Shape[] = [
  {
    name: "3x3 of more tiles than blocks",
    x: [1, 3, 110, 105, 16],
    weight: [16, 16, 1, 3, 3],
    more: { inputs: { bias: [16] } as Case["inputs"], attrs: { padding: around(0, 1) } },
  },
  {
    name: "3x3 of 128 to 128",
    x: [1, 2, 18, 20, 128],
    weight: [128, 128, 1, 3, 3],
    more: { inputs: { bias: [128] } as Case["inputs"], attrs: { padding: around(0, 1) } },
  },
  {
    name: "3x3 in whole tiles, a residual, a scale for each clip",
    x: [2, 20, 32, 24, 16],
    weight: [16, 16, 1, 3, 3],
    more: {
      inputs: { xScale: scales([2, 1, 1, 1]), bias: [16], residual: [2, 20, 32, 24, 16] } as Case["inputs"],
      attrs: { padding: around(0, 1), outScale: 0.5, residualScale: -2 },
    },
  },
  {
    name: "3x3 of 112 to 264 on gaps, two residuals, a frame bias",
    x: [1, 3, 19, 21, 112],
    weight: [264, 112, 1, 3, 3],
    gap: 16,
    more: {
      inputs: {
        bias: [264],
        frameBias: [1, 3, 264],
        residual: { dims: [1, 3, 19, 21, 264], gap: 8 },
        residual2: [1, 3, 19, 21, 264],
      } as Case["inputs"],
      attrs: { padding: around(0, 1), outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
      outGap: 8,
    },
  },
  {
    name: "3x1x1 of 128 to 160, frames of 64 pixels",
    x: [1, 5, 4, 16, 128],
    weight: [160, 128, 3, 1, 1],
    more: {
      inputs: { bias: [160], frameBias: [1, 5, 160] } as Case["inputs"],
      attrs: { padding: around(1, 0) },
    },
  },
  {
    name: "3x1x1 of 64 to 160, small frames, a bias of each clip",
    x: [2, 9, 3, 5, 64],
    weight: [160, 64, 3, 1, 1],
    more: {
      inputs: { bias: [160], frameBias: [2, 1, 160] } as Case["inputs"],
      attrs: { padding: around(1, 0) },
    },
  },
  {
    name: "3x1x1 of 256",
    x: [1, 5, 12, 20, 256],
    weight: [256, 256, 3, 1, 1],
    more: {
      inputs: { bias: [256], residual: [1, 5, 12, 20, 256] } as Case["inputs"],
      attrs: { padding: around(1, 0) },
    },
  },
];

/** Sums as large as 16 bits of their scale have room for, in tiles that keep some so; tensor cores cut nothing off such codes. */
const largest: Case = {
  name: "3x3 of large codes of one sign, f8e4m3",
  inputs: {
    x: { dims: [1, 1, 8, 16, 592], dtype: "f8e4m3", fill: { mean: 384, deviation: 0 } },
    xScale: { dims: [1, 1, 1, 1], fill: { mean: 1e-4, deviation: 0 } },
    weight: { dims: [128, 592, 1, 3, 3], dtype: "f8e4m3", fill: { mean: 384, deviation: 0 } },
    weightScale: { dims: [128, 1], fill: { mean: 1e-4, deviation: 0 } },
  },
  attrs: { padding: around(0, 1) },
};

/** Values far from zero, whose squares say little of their variance. */
const far = (dims: readonly number[], gap = 0): Operand => ({ dims, gap, fill: { mean: 20, deviation: 1 } });

/** The moments of the result: of frames that whole tiles cover, where kernels find them on the way, and of others. */
const measured: Shape[] = [
  {
    name: "moments of whole tiles",
    x: [2, 3, 16, 16, 64],
    weight: [128, 64, 1, 3, 3],
    more: { inputs: { bias: [128] } as Case["inputs"], attrs: { padding: around(0, 1) } },
  },
  {
    name: "moments of more whole tiles than blocks",
    x: [1, 5, 64, 128, 16],
    weight: [16, 16, 1, 3, 3],
    more: {
      inputs: { bias: [16], residual: far([1, 5, 64, 128, 16]) } as Case["inputs"],
      attrs: { padding: around(0, 1) },
    },
  },
  {
    name: "moments of short sums of 256 filters over frames",
    x: [1, 4, 16, 16, 256],
    weight: [256, 256, 3, 1, 1],
    more: { inputs: { bias: [256] } as Case["inputs"], attrs: { padding: around(1, 0) } },
  },
  {
    name: "moments of whole tiles and a tile of columns that is not, with a frame bias",
    x: [1, 2, 8, 64, 144],
    weight: [328, 144, 1, 3, 3],
    more: {
      inputs: { bias: [328], frameBias: [1, 2, 328], residual: far([1, 2, 8, 64, 328]) } as Case["inputs"],
      attrs: { padding: around(0, 1) },
    },
  },
  {
    name: "moments of 480 filters",
    x: [1, 1, 16, 48, 112],
    weight: [480, 112, 1, 3, 3],
    more: { attrs: { padding: around(0, 1) } },
  },
  {
    name: "moments of a blend over frames",
    x: [1, 5, 16, 16, 128],
    weight: [160, 128, 3, 1, 1],
    more: {
      inputs: { bias: [160], residual: far([1, 5, 16, 16, 160]), residual2: [1, 5, 16, 16, 160] } as Case["inputs"],
      attrs: { padding: around(1, 0), outScale: 0.5, residualScale: 0.75, residual2Scale: 2 },
    },
  },
  {
    name: "moments of a residual on a gap, 256 filters over frames",
    x: [1, 3, 24, 32, 256],
    weight: [256, 256, 3, 1, 1],
    gap: 16,
    more: {
      inputs: { residual: far([1, 3, 24, 32, 256], 8) } as Case["inputs"],
      attrs: { padding: around(1, 0) },
      outGap: 16,
    },
  },
  {
    name: "moments of frames of 128 pixels",
    x: [1, 3, 8, 16, 96],
    weight: [256, 96, 1, 3, 3],
    more: { attrs: { padding: around(0, 1) } },
  },
  {
    name: "moments of odd sizes, activated",
    x: [2, 2, 5, 27, 13],
    weight: [11, 13, 1, 3, 3],
    more: { inputs: { bias: [11] } as Case["inputs"], attrs: { padding: around(0, 1), act: "silu" } },
  },
  { name: "moments of 1x1 filters, two frames of which fill a tile", x: [1, 2, 8, 8, 64], weight: [96, 64, 1, 1, 1] },
  { name: "moments of one pixel", x: [1, 2, 1, 1, 32], weight: [32, 32, 1, 1, 1] },
].map((each): Shape => ({ ...(each as Shape), more: { ...(each as Shape).more, also: ["moments"] } }));

/** 4x4 filters that double height and width. */
const doubling: Shape[] = (
  [
    { name: "transposed", x: [2, 2, 4, 5, 12], weight: [12, 20, 1, 4, 4] },
    { name: "transposed of one pixel", x: [1, 1, 1, 1, 5], weight: [5, 3, 1, 4, 4] },
    { name: "transposed of one channel", x: [1, 2, 3, 1, 1], weight: [1, 1, 1, 4, 4] },
    {
      name: "transposed 64 to 64 on gaps, everything, a scale for each clip",
      x: [2, 2, 9, 17, 64],
      weight: [64, 64, 1, 4, 4],
      gap: 16,
      more: {
        inputs: {
          xScale: scales([2, 1, 1, 1]),
          bias: [64],
          frameBias: [2, 2, 64],
          residual: [2, 2, 18, 34, 64],
          residual2: { dims: [2, 2, 18, 34, 64], gap: 8 },
        } as Case["inputs"],
        attrs: { act: "silu", outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
        outGap: 8,
      },
    },
    {
      name: "transposed 144 to 40, one scale for all filters",
      x: [1, 1, 7, 8, 144],
      weight: [144, 40, 1, 4, 4],
      more: { inputs: { weightScale: scales([1, 1]), bias: [40] } as Case["inputs"] },
    },
    {
      name: "transposed 48 to 256 with a bias, boxes of whole tiles",
      x: [1, 2, 16, 16, 48],
      weight: [48, 256, 1, 4, 4],
      more: { inputs: { bias: [256], frameBias: [1, 2, 256] } as Case["inputs"] },
    },
    {
      name: "moments of a transposed convolution",
      x: [1, 2, 16, 32, 96],
      weight: [96, 128, 1, 4, 4],
      more: { inputs: { bias: [128] } as Case["inputs"], also: ["moments"] },
    },
    {
      name: "moments of a transposed convolution of odd sizes",
      x: [1, 2, 5, 7, 32],
      weight: [32, 40, 1, 4, 4],
      more: { also: ["moments"] },
    },
  ] as Shape[]
).map(({ more = {}, ...each }) => ({
  ...each,
  more: {
    ...more,
    attrs: { ...more.attrs, transposed: true, stride: [1, 2, 2], padding: around(0, 1) },
  } as Partial<Case>,
}));

const epilogue = epilogueCases({ out: [2, 3, 3, 4, 24], rows: 24 }).flatMap((each) =>
  both({
    name: each.name,
    x: [2, 3, 3, 4, 16],
    weight: [24, 16, 1, 3, 3],
    more: { attrs: { ...each.attrs, padding: around(0, 1) }, inputs: each.inputs as Case["inputs"] },
  }),
);

/** A timed upsampling convolution: nearest-2x and 3x3 filters as one transposed convolution. */
const upsampling = (name: string, x: number[], rows: number): Case[] =>
  TYPES.map((dtype) => ({
    name: `${name}, ${dtype}`,
    inputs: {
      x: codes(x, dtype),
      xScale: scales([1, 1, 1, 1]),
      weight: codes([x[4]!, rows, 1, 4, 4], dtype),
      weightScale: scales([rows, 1]),
      bias: [rows],
    },
    attrs: { transposed: true, stride: [1, 2, 2], padding: around(0, 1) },
  }));

/** A timed layer with bias; results in the timing's own type. */
const layer = (name: string, x: number[], rows: number, kernel: readonly [number, number, number]): Case[] =>
  TYPES.map((dtype) => ({
    name: `${name}, ${dtype}`,
    inputs: {
      x: codes(x, dtype),
      xScale: scales([1, 1, 1, 1]),
      weight: codes([rows, x[4]!, ...kernel], dtype),
      weightScale: scales([rows, 1]),
      bias: [rows],
    },
    attrs: { padding: around(Math.floor(kernel[0] / 2), Math.floor(kernel[1] / 2)) },
  }));

export default defineCases(convQ8, {
  correctness: [
    ...shapes.flatMap(both),
    ...stationary.flatMap(both),
    largest,
    ...measured.flatMap(both),
    ...doubling.flatMap(both),
    ...epilogue,
  ],
  bench: [
    ...layer("svd-xt.unet.down0.res0.conv1", [2, 25, 72, 128, 320], 320, [1, 3, 3]),
    ...layer("svd-xt.unet.down0.res0.temporal.conv1", [2, 25, 72, 128, 320], 320, [3, 1, 1]),
    ...layer("svd-xt.unet.down1.res0.conv2", [2, 25, 36, 64, 640], 640, [1, 3, 3]),
    ...layer("svd-xt.unet.up3.res0.conv1", [2, 25, 72, 128, 640], 640, [1, 3, 3]),
    ...layer("svd-xt.unet.mid.res0.conv1", [2, 25, 9, 16, 1280], 1280, [1, 3, 3]),
    ...upsampling("svd-xt.vae.up0.upsample", [1, 2, 72, 128, 512], 512),
    ...upsampling("svd-xt.vae.up2.upsample", [1, 2, 288, 512, 256], 256),
    ...layer("svd-xt.vae.up3.res1.conv1", [1, 2, 576, 1024, 128], 128, [1, 3, 3]),
    ...layer("unet-chain.first.down2", [1, 2, 16, 16, 768], 768, [1, 3, 3]),
    ...layer("unet-chain.first.down3", [1, 2, 8, 8, 1536], 1536, [1, 3, 3]),
    ...layer("unet-chain.first.down4", [1, 2, 4, 4, 3072], 3072, [1, 3, 3]),
    ...layer("unet-chain.second.down2", [1, 2, 16, 16, 384], 384, [1, 3, 3]),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    ...layer("one-core.3x3 of 320", [1, 1, 24, 40, 320], 320, [1, 3, 3]),
    ...layer("one-core.3x1x1 of 640", [1, 14, 9, 16, 640], 640, [3, 1, 1]),
  ],
});
