import { type CaseOf, defineCases, epilogueCases } from "../../contract/define-case";
import conv from "./conv.op";
import { grouped } from "./conv-grouped";
import { around, inFrames, measured, type Pads, transposed, wide } from "./conv-kinds";

type Case = CaseOf<typeof conv>;
/** Kernel, stride and padding; the filter's sizes are [K,C,T,R,S]. */
const shapes: Case[] = [
  { name: "1x1", inputs: { x: [2, 3, 5, 7, 24], weight: [16, 24, 1, 1, 1] } },
  { name: "1x1 of one channel", inputs: { x: [1, 1, 3, 5, 1], weight: [1, 1, 1, 1, 1] } },
  {
    name: "1x1 with a step of 2",
    inputs: { x: [1, 2, 5, 7, 9], weight: [5, 9, 1, 1, 1] },
    attrs: { stride: [1, 2, 2] },
  },
  { name: "1x1 on a gap", inputs: { x: { dims: [1, 2, 4, 5, 12], gap: 20 }, weight: [17, 12, 1, 1, 1] }, outGap: 3 },
  { name: "3x3", inputs: { x: [2, 2, 9, 14, 12], weight: [20, 12, 1, 3, 3] }, attrs: { padding: around(0, 1) } },
  { name: "3x3 to 1", inputs: { x: [1, 1, 6, 7, 13], weight: [1, 13, 1, 3, 3] }, attrs: { padding: around(0, 1) } },
  { name: "3x3 from 1", inputs: { x: [1, 2, 6, 7, 1], weight: [33, 1, 1, 3, 3] }, attrs: { padding: around(0, 1) } },
  {
    name: "3x3 from 3 to 7",
    inputs: { x: [1, 2, 4, 4, 3], weight: [7, 3, 1, 3, 3] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "3x3x3 from 20 to 24, on a gap",
    inputs: { x: { dims: [2, 4, 5, 7, 20], gap: 4 }, weight: [24, 20, 3, 3, 3], bias: [24], frameBias: [2, 4, 24] },
    attrs: { padding: around(1, 1), act: "silu" },
  },
  {
    name: "2x3x3 from 16 to 17, padded unevenly",
    inputs: { x: [1, 3, 4, 6, 16], weight: [17, 16, 2, 3, 3] },
    attrs: { padding: [1, 0, 0, 2, 1, 0] },
  },
  {
    name: "3x1x1 from 3 to 3",
    inputs: { x: [2, 5, 4, 6, 3], weight: [3, 3, 3, 1, 1], bias: [3] },
    attrs: { padding: around(1, 0) },
  },
  {
    name: "3x1x1 from 64 to 160, frames of 64 pixels",
    inputs: { x: [1, 5, 4, 16, 64], weight: [160, 64, 3, 1, 1], bias: [160], frameBias: [1, 5, 160] },
    attrs: { padding: around(1, 0) },
  },
  {
    name: "2x3x3 step 2 from 5 to 4, on gaps",
    inputs: {
      x: { dims: [1, 4, 7, 9, 5], gap: 4 },
      weight: [4, 5, 2, 3, 3],
      bias: [4],
      residual: [1, 3, 4, 5, 4],
      frameBias: [1, 3, 4],
    },
    attrs: { stride: [1, 2, 2], padding: around(0, 1), act: "silu", outScale: 0.5, residualScale: -2 },
    outGap: 3,
  },
  {
    name: "3x3 from 4 to 4, doubled",
    inputs: { x: [1, 2, 5, 4, 4], weight: [4, 4, 1, 3, 3] },
    attrs: { upsample: true, padding: around(0, 1) },
  },
  {
    name: "3x3 from 64 to 64, relu",
    inputs: { x: [1, 2, 9, 17, 64], weight: [64, 64, 1, 3, 3], bias: [64] },
    attrs: { padding: around(0, 1), act: "relu" },
  },
  {
    name: "3x3 from 8 to 72, everything, on gaps",
    inputs: {
      x: { dims: [2, 2, 9, 19, 8], gap: 8 },
      weight: [72, 8, 1, 3, 3],
      bias: [72],
      frameBias: [2, 2, 72],
      residual: { dims: [2, 2, 9, 18, 72], gap: 8 },
      residual2: [2, 2, 9, 18, 72],
    },
    attrs: { padding: [0, 0, 1, 1, 0, 1], act: "silu", outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
    outGap: 8,
  },
  {
    name: "3x3 from 3 to 64 in tiles",
    inputs: { x: { dims: [1, 2, 17, 70, 3], gap: 1 }, weight: [64, 3, 1, 3, 3], bias: [64] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "3x3 from 4 to 141 in tiles, padded unevenly, everything, on gaps",
    inputs: {
      x: { dims: [2, 2, 10, 33, 4], gap: 3 },
      weight: [141, 4, 1, 3, 3],
      bias: [141],
      frameBias: [2, 2, 141],
      residual: [2, 2, 10, 34, 141],
    },
    attrs: { padding: [0, 0, 2, 0, 1, 2], act: "silu", outScale: 0.5, residualScale: -2 },
    outGap: 5,
  },
  {
    name: "3x3 from 16 to 40",
    inputs: { x: [1, 2, 5, 35, 16], weight: [40, 16, 1, 3, 3], bias: [40] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "3x3 from 64 to 3",
    inputs: { x: [2, 2, 11, 37, 64], weight: [3, 64, 1, 3, 3], bias: [3] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "3x3 from 37 to 4, everything, on gaps",
    inputs: {
      x: { dims: [2, 3, 5, 13, 37], gap: 3 },
      weight: [4, 37, 1, 3, 3],
      bias: [4],
      frameBias: [2, 3, 4],
      residual: [2, 3, 5, 13, 4],
    },
    attrs: { padding: around(0, 1), act: "gelu", outScale: 0.5, residualScale: -2 },
    outGap: 5,
  },
  {
    name: "3x3 from 40 to 2, doubled",
    inputs: { x: [1, 2, 5, 4, 40], weight: [2, 40, 1, 3, 3], bias: [2] },
    attrs: { upsample: true, padding: around(0, 1) },
  },
  {
    name: "3x1x1 from 50 to 3, with a bias for each frame of two clips, on gaps",
    inputs: {
      x: { dims: [2, 4, 3, 5, 50], gap: 6 },
      weight: [3, 50, 3, 1, 1],
      frameBias: [2, 4, 3],
      residual: { dims: [2, 4, 3, 5, 3], gap: 2 },
    },
    attrs: { padding: around(1, 0), residualScale: 0.5 },
    outGap: 1,
  },
  {
    name: "3x1x1 step 2 from 24 to 40, with a bias for each frame of two clips",
    inputs: { x: [2, 5, 3, 7, 24], weight: [40, 24, 3, 1, 1], frameBias: [2, 3, 40] },
    attrs: { stride: [2, 1, 1], padding: around(1, 0) },
  },
  {
    name: "3x3 from 32 to 8, everything",
    inputs: {
      x: { dims: [1, 3, 17, 33, 32], gap: 8 },
      weight: [8, 32, 1, 3, 3],
      bias: [8],
      frameBias: [1, 3, 8],
      residual: [1, 3, 16, 34, 8],
    },
    attrs: { padding: [0, 0, 0, 1, 2, 1], act: "silu", outScale: 0.5, residualScale: -2 },
    outGap: 5,
  },
  {
    name: "3x3 from 20 to 33 in tiles that reach beyond both edges, everything",
    inputs: {
      x: { dims: [2, 2, 10, 15, 20], gap: 4 },
      weight: [33, 20, 1, 3, 3],
      bias: [33],
      frameBias: [2, 2, 33],
      residual: [2, 2, 10, 15, 33],
    },
    attrs: { padding: around(0, 1), act: "silu", outScale: 0.5, residualScale: -2 },
    outGap: 3,
  },
  {
    name: "3x3x3 from 32 to 70, whole tiles",
    inputs: { x: [1, 3, 8, 12, 32], weight: [70, 32, 3, 3, 3], bias: [70] },
    attrs: { padding: around(1, 1) },
  },
  {
    name: "3x3 from 24 to 40, doubled",
    inputs: { x: { dims: [1, 2, 5, 7, 24], gap: 8 }, weight: [40, 24, 1, 3, 3], bias: [40] },
    attrs: { upsample: true, padding: around(0, 1) },
  },
  {
    name: "3x3 from 24 to 40, doubled, padded unevenly",
    inputs: { x: [2, 1, 3, 2, 24], weight: [40, 24, 1, 3, 3] },
    attrs: { upsample: true, padding: [0, 0, 0, 2, 1, 0] },
  },
  {
    name: "3x3 on one pixel",
    inputs: { x: [2, 1, 1, 1, 8], weight: [8, 8, 1, 3, 3] },
    attrs: { padding: around(0, 1) },
  },
  { name: "3x3 without zeros", inputs: { x: [1, 2, 5, 6, 10], weight: [9, 10, 1, 3, 3] } },
  { name: "3x3 wide", inputs: { x: [1, 1, 3, 70, 67], weight: [130, 67, 1, 3, 3] }, attrs: { padding: around(0, 1) } },
  {
    name: "3x3 from 200 to 40, more blocks of channels than a kernel keeps at once",
    inputs: { x: [1, 2, 9, 17, 200], weight: [40, 200, 1, 3, 3], bias: [40], residual: [1, 2, 9, 17, 40] },
    attrs: { padding: around(0, 1), act: "silu" },
  },
  {
    name: "3x3 on gaps",
    inputs: { x: { dims: [2, 2, 5, 5, 11], gap: 21, shiftBytes: 12 }, weight: [19, 11, 1, 3, 3] },
    attrs: { padding: around(0, 1) },
    outGap: 13,
  },
  {
    name: "3x3 on gaps, 33 to 37",
    inputs: { x: { dims: [1, 2, 7, 9, 33], gap: 31 }, weight: [37, 33, 1, 3, 3] },
    attrs: { padding: [0, 0, 1, 0, 2, 1] },
    outGap: 3,
  },
  {
    name: "3x3 step 2, odd",
    inputs: { x: [2, 2, 9, 13, 16], weight: [16, 16, 1, 3, 3] },
    attrs: { stride: [1, 2, 2], padding: around(0, 1) },
  },
  {
    name: "3x3 step 2, even, right and bottom",
    inputs: { x: [1, 2, 10, 12, 8], weight: [8, 8, 1, 3, 3] },
    attrs: { stride: [1, 2, 2], padding: [0, 0, 0, 1, 0, 1] },
  },
  {
    name: "all sides different",
    inputs: { x: [1, 4, 5, 6, 6], weight: [7, 6, 2, 3, 3] },
    attrs: { padding: [1, 0, 2, 1, 0, 3] },
  },
  { name: "3x1x1", inputs: { x: [2, 5, 4, 3, 16], weight: [16, 16, 3, 1, 1] }, attrs: { padding: around(1, 0) } },
  {
    name: "3x1x1, one frame",
    inputs: { x: [2, 1, 5, 4, 8], weight: [8, 8, 3, 1, 1] },
    attrs: { padding: around(1, 0) },
  },
  { name: "3x1x1 in the middle", inputs: { x: [1, 5, 2, 3, 8], weight: [3, 8, 3, 1, 1] } },
  {
    name: "3x1x1 front only",
    inputs: { x: [1, 4, 2, 3, 8], weight: [8, 8, 3, 1, 1] },
    attrs: { padding: [2, 0, 0, 0, 0, 0] },
  },
  { name: "3x3x3", inputs: { x: [1, 4, 5, 6, 9], weight: [11, 9, 3, 3, 3] }, attrs: { padding: around(1, 1) } },
  {
    name: "3x3x3 step 2",
    inputs: { x: [1, 5, 7, 6, 8], weight: [8, 8, 3, 3, 3] },
    attrs: { stride: [2, 2, 2], padding: around(1, 1) },
  },
  { name: "2x5x5", inputs: { x: [1, 3, 8, 9, 5], weight: [6, 5, 2, 5, 5] }, attrs: { padding: around(0, 2) } },
  { name: "1x5", inputs: { x: [1, 2, 3, 9, 7], weight: [6, 7, 1, 1, 5] }, attrs: { padding: around(0, 0, 2) } },
  { name: "5x1", inputs: { x: [1, 2, 9, 3, 7], weight: [6, 7, 1, 5, 1] }, attrs: { padding: around(0, 2, 0) } },
  { name: "4x4 step 3", inputs: { x: [1, 1, 11, 13, 4], weight: [5, 4, 1, 4, 4] }, attrs: { stride: [1, 3, 3] } },
  {
    name: "patches of 14",
    inputs: { x: [1, 1, 28, 42, 3], weight: [16, 3, 1, 14, 14] },
    attrs: { stride: [1, 14, 14] },
  },
  {
    name: "patches of 32, not to the edge, of several frames",
    inputs: { x: [2, 2, 71, 100, 3], weight: [33, 3, 1, 32, 32], bias: [33] },
    attrs: { stride: [1, 32, 32] },
  },
  {
    name: "patches of 5 on a gap",
    inputs: { x: { dims: [1, 2, 13, 17, 5], gap: 3 }, weight: [18, 5, 1, 5, 5] },
    attrs: { stride: [1, 5, 5] },
  },
  {
    name: "lines that are whole below zeros, behind past frames",
    inputs: { x: [1, 3, 6, 11, 7], past: [1, 1, 6, 11, 7], weight: [17, 7, 2, 3, 4] },
    attrs: { stride: [1, 2, 3], padding: [0, 0, 2, 1, 0, 0] },
  },
  {
    name: "more zeros than kernel",
    inputs: { x: [1, 2, 3, 2, 4], weight: [5, 4, 1, 1, 1] },
    attrs: { padding: around(1, 3) },
  },
  {
    name: "kernel larger than x",
    inputs: { x: [1, 1, 2, 2, 4], weight: [5, 4, 1, 5, 5] },
    attrs: { padding: around(0, 2) },
  },
];

const upsampling: Case[] = [
  {
    name: "upsample 3x3",
    inputs: { x: [2, 2, 4, 5, 12], weight: [20, 12, 1, 3, 3] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "upsample 3x3 on one pixel",
    inputs: { x: [1, 1, 1, 1, 5], weight: [3, 5, 1, 3, 3] },
    attrs: { padding: around(0, 1) },
  },
  { name: "upsample 1x1", inputs: { x: [1, 2, 3, 4, 8], weight: [9, 8, 1, 1, 1] } },
  { name: "upsample 3x3 without zeros", inputs: { x: [1, 2, 3, 4, 8], weight: [9, 8, 1, 3, 3] } },
  {
    name: "upsample 3x3, zeros on two sides",
    inputs: { x: [1, 2, 3, 4, 8], weight: [9, 8, 1, 3, 3] },
    attrs: { padding: [0, 0, 1, 0, 0, 1] },
  },
  { name: "upsample 5x5", inputs: { x: [1, 1, 4, 3, 6], weight: [5, 6, 1, 5, 5] }, attrs: { padding: around(0, 2) } },
  { name: "upsample 2x2", inputs: { x: [1, 1, 4, 3, 6], weight: [5, 6, 1, 2, 2] } },
  { name: "upsample 3x3x3", inputs: { x: [1, 3, 3, 3, 6], weight: [5, 6, 3, 3, 3] }, attrs: { padding: around(1, 1) } },
  {
    name: "upsample and step 2",
    inputs: { x: [1, 2, 4, 5, 6], weight: [5, 6, 1, 3, 3] },
    attrs: { stride: [1, 2, 2], padding: around(0, 1) },
  },
  {
    name: "upsample, frames by 2",
    inputs: { x: [1, 4, 3, 3, 6], weight: [5, 6, 3, 3, 3] },
    attrs: { stride: [2, 1, 1], padding: around(1, 1) },
  },
].map((each) => ({ ...each, attrs: { ...each.attrs, upsample: true } }));

const filter = [18, 20, 1, 3, 3];
const picture = { x: [2, 3, 4, 5, 20] };
const types: Case[] = [
  { name: "weight f16", inputs: { ...picture, weight: { dims: filter, dtype: "f16" } } },
  { name: "weight f16, 5 channels", inputs: { x: [2, 3, 4, 5, 5], weight: { dims: [18, 5, 1, 3, 3], dtype: "f16" } } },
  { name: "weight bf16", inputs: { ...picture, weight: { dims: filter, dtype: "bf16" } } },
  { name: "weight f32 at byte 1", inputs: { ...picture, weight: { dims: filter, shiftBytes: 1 } } },
  { name: "weight f16 at byte 3", inputs: { ...picture, weight: { dims: filter, dtype: "f16", shiftBytes: 3 } } },
  {
    name: "1x1 weight f16 at byte 1",
    inputs: { ...picture, weight: { dims: [9, 20, 1, 1, 1], dtype: "f16", shiftBytes: 1 } },
  },
  { name: "weight that may change", inputs: { ...picture, weight: { dims: filter, constant: false } } },
  {
    name: "upsample weight f16",
    inputs: { ...picture, weight: { dims: filter, dtype: "f16" } },
    attrs: { upsample: true },
  },
  { name: "x f16", inputs: { x: { dims: picture.x, dtype: "f16" }, weight: { dims: filter, dtype: "f16" } } },
  { name: "x bf16", inputs: { x: { dims: picture.x, dtype: "bf16" }, weight: { dims: filter, dtype: "bf16" } } },
];

const epilogue = (["3x3", "1x1", "upsampled"] as const).flatMap((kind) => {
  const size = kind === "1x1" ? 1 : 3;
  const scale = kind === "upsampled" ? 2 : 1;
  const base = { x: [2, 3, 3, 5, 17], weight: [19, 17, 1, size, size] };
  const attrs = { padding: around(0, (size - 1) / 2), upsample: kind === "upsampled" };
  return epilogueCases({ out: [2, 3, 3 * scale, 5 * scale, 19], rows: 19 }).map(
    (each): Case => ({
      name: `${kind}: ${each.name}`,
      inputs: { ...base, ...each.inputs },
      attrs: { ...attrs, ...each.attrs },
    }),
  );
});

/** 3x3 filters of up to 64 channels, which fit into a block's memory: many tiles and few, whole and ragged, every tail. */
const stationary: Case[] = [
  {
    name: "3x3 of more tiles than blocks, gelu",
    inputs: { x: [1, 3, 110, 105, 8], weight: [16, 8, 1, 3, 3], bias: [16] },
    attrs: { padding: around(0, 1), act: "gelu" },
  },
  {
    name: "3x3 of 64 in whole tiles, silu, a scaled residual",
    inputs: { x: [2, 1, 32, 24, 64], weight: [64, 64, 1, 3, 3], bias: [64], residual: [2, 1, 32, 24, 64] },
    attrs: { padding: around(0, 1), act: "silu", outScale: 0.5, residualScale: -2 },
  },
  {
    name: "3x3 of 40 to 136 on gaps, two residuals, a frame bias",
    inputs: {
      x: { dims: [1, 3, 19, 21, 40], gap: 8 },
      weight: [136, 40, 1, 3, 3],
      bias: [136],
      frameBias: [1, 3, 136],
      residual: { dims: [1, 3, 19, 21, 136], gap: 8 },
      residual2: [1, 3, 19, 21, 136],
    },
    attrs: { padding: around(0, 1), outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    outGap: 8,
  },
  {
    name: "3x3 of 16 to 320 without a border",
    inputs: { x: [1, 40, 18, 10, 16], weight: [320, 16, 1, 3, 3] },
  },
  {
    name: "3x3 of 24 padded unevenly, many frames, relu and a residual",
    inputs: { x: [2, 30, 17, 9, 24], weight: [24, 24, 1, 3, 3], residual: [2, 30, 18, 8, 24] },
    attrs: { padding: [0, 0, 2, 1, 0, 1], act: "relu" },
  },
];

/** A layer on a clip of two rows (guidance) or one. */
const layer = (name: string, x: number[], cout: number, kernel: number[], attrs: Case["attrs"] = {}): Case => {
  const padding = kernel.flatMap((size) => [(size - 1) / 2, (size - 1) / 2]) as Pads;
  const [k, inputs] = [[cout, x[4]! / Number(attrs?.groups ?? 1), ...kernel], { bias: [cout] }];
  return { name, inputs: { x, weight: k, ...inputs }, attrs: { padding, ...attrs } };
};
/** A filter for every channel. */
const depthwise = (name: string, x: number[], kernel: number[], attrs: Case["attrs"] = {}): Case =>
  layer(name, x, x[4]!, kernel, { groups: x[4]!, ...attrs });
/** A convolution of 3x3x3 that sees no later frame, of a chunk behind `past` frames, as autoencoders of video have them. */
const causal = (name: string, x: number[], cout: number, attrs: Case["attrs"], past = 0): Case => {
  const inputs = { x, weight: [cout, x[4]!, 3, 3, 3], bias: [cout] };
  const [b, , ...pixels] = x as [number, number, ...number[]];
  return { name, inputs: past > 0 ? { ...inputs, past: [b, past, ...pixels] } : inputs, attrs: attrs ?? {} };
};
const [flat, overTime] = [
  [1, 3, 3],
  [3, 1, 1],
];
const half: Case["attrs"] = { stride: [1, 2, 2] };

export default defineCases(conv, {
  correctness: [
    ...shapes,
    ...upsampling,
    ...types,
    ...grouped,
    ...inFrames,
    ...transposed,
    ...measured,
    ...wide,
    ...stationary,
    ...epilogue,
  ],
  bench: [
    layer("tiny.unet.conv_in", [2, 14, 16, 16, 8], 64, flat),
    layer("tiny.unet.down0.res0.conv1", [2, 14, 16, 16, 64], 64, flat),
    layer("tiny.unet.down0.res0.temporal.conv1", [2, 14, 16, 16, 64], 64, overTime),
    layer("tiny.unet.down0.downsample", [2, 14, 16, 16, 64], 64, flat, half),
    layer("tiny.unet.up0.upsample", [2, 14, 4, 4, 128], 128, flat, { upsample: true }),
    layer("tiny.unet.conv_out", [2, 14, 16, 16, 64], 4, flat),
    layer("tiny.vae.up3.res0.conv1", [1, 14, 128, 128, 64], 64, flat),
    layer("tiny.vae.up2.upsample", [1, 14, 64, 64, 64], 64, flat, { upsample: true }),
    layer("tiny.vae.time_conv_out", [1, 14, 128, 128, 3], 3, overTime),
    layer("svd-xt.unet.conv_in", [2, 25, 72, 128, 8], 320, flat),
    layer("svd-xt.unet.down0.res0.conv1", [2, 25, 72, 128, 320], 320, flat),
    layer("svd-xt.unet.down0.res0.temporal.conv1", [2, 25, 72, 128, 320], 320, overTime),
    layer("svd-xt.unet.down0.downsample", [2, 25, 72, 128, 320], 320, flat, half),
    layer("svd-xt.unet.down1.res0.conv2", [2, 25, 36, 64, 640], 640, flat),
    layer("svd-xt.unet.mid.res0.conv1", [2, 25, 9, 16, 1280], 1280, flat),
    layer("svd-xt.unet.up0.upsample", [2, 25, 9, 16, 1280], 1280, flat, { upsample: true }),
    layer("svd-xt.vae.up3.res0.conv1", [1, 8, 576, 1024, 256], 128, flat),
    layer("svd-xt.vae.up2.upsample", [1, 8, 288, 512, 256], 256, flat, { upsample: true }),
    layer("svd-xt.vae.time_conv_out", [1, 25, 576, 1024, 3], 3, overTime),
    causal("causal.chunk_first", [1, 8, 240, 416, 256], 256, {
      framePadding: "replicate",
      padding: [2, 0, 1, 1, 1, 1],
    }),
    causal("causal.chunk_next", [1, 8, 240, 416, 256], 256, { padding: around(0, 1) }, 2),
    causal("causal.downsample", [1, 8, 240, 416, 256], 256, { padding: [0, 0, 0, 1, 0, 1], stride: [2, 2, 2] }, 1),
    causal("causal.small", [1, 4, 48, 48, 64], 64, { padding: around(0, 1) }, 2),
    layer("sd15.unet.conv_in", [1, 2, 64, 64, 4], 320, flat),
    layer("taesd.encoder.conv_in", [1, 1, 512, 512, 3], 64, flat),
    layer("taesd.encoder.block", [1, 1, 512, 512, 64], 64, flat),
    depthwise("depthwise.small", [1, 4, 64, 64, 256], [1, 3, 3]),
    layer("groups.small", [1, 4, 32, 32, 256], 256, flat, { groups: 8 }),
    {
      name: "transposed.small",
      inputs: { x: [1, 4, 32, 32, 128], weight: [128, 64, 1, 4, 4], bias: [64] },
      attrs: { transposed: true, stride: [1, 2, 2], padding: around(0, 1) },
    },
    depthwise("depthwise.3x3", [1, 16, 128, 128, 256], [1, 3, 3]),
    depthwise("depthwise.5x5_step2", [1, 16, 128, 128, 256], [1, 5, 5], { stride: [1, 2, 2] }),
    depthwise("depthwise.3x3x3", [1, 16, 64, 64, 512], [3, 3, 3]),
    layer("groups.8_of_32", [1, 16, 64, 64, 256], 256, flat, { groups: 8 }),
    layer("groups.64_of_4", [1, 16, 64, 64, 256], 256, flat, { groups: 64 }),
    {
      name: "transposed.4x4",
      inputs: { x: [1, 16, 64, 64, 512], weight: [512, 256, 1, 4, 4], bias: [256] },
      attrs: { transposed: true, stride: [1, 2, 2], padding: around(0, 1) },
    },
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    layer("one-core.3x3 of 320", [1, 1, 24, 40, 320], 320, [1, 3, 3]),
    layer("one-core.3x1x1 of 640", [1, 14, 9, 16, 640], 640, [3, 1, 1]),
  ],
});
