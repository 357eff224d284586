import type { CaseOf } from "../../contract/define-case";
import type conv from "./conv.op";

type Case = CaseOf<typeof conv>;

/** Sizes at front, back, top, bottom, left, right. */
export type Pads = [number, number, number, number, number, number];

/** The same padding on both sides of each axis. */
export const around = (frames: number, rows: number, columns = rows): Pads => [
  frames,
  frames,
  rows,
  rows,
  columns,
  columns,
];

/** What stands in front of a clip and behind it: past frames, the first and the last again. */
export const inFrames: Case[] = [
  {
    name: "3x3x3 causal by zeros",
    inputs: { x: [2, 4, 5, 6, 20], weight: [24, 20, 3, 3, 3] },
    attrs: { padding: [2, 0, 1, 1, 1, 1] },
  },
  {
    name: "3x3x3 causal by the first frame",
    inputs: { x: [2, 4, 5, 6, 20], weight: [24, 20, 3, 3, 3], bias: [24] },
    attrs: { padding: [2, 0, 1, 1, 1, 1], framePadding: "replicate", act: "silu" },
  },
  {
    name: "3x3x3 behind 2 past frames",
    inputs: { x: [2, 3, 5, 6, 20], past: [2, 2, 5, 6, 20], weight: [24, 20, 3, 3, 3], residual: [2, 3, 5, 6, 24] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "3x3x3 of one frame behind 2, 64 to 64",
    inputs: { x: [1, 1, 9, 17, 64], past: [1, 2, 9, 17, 64], weight: [64, 64, 3, 3, 3], bias: [64] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "3x3x3 behind 1 past frame, padded, on gaps",
    inputs: {
      x: { dims: [1, 3, 5, 6, 12], gap: 4 },
      past: { dims: [1, 1, 5, 6, 12], gap: 8 },
      weight: [9, 12, 3, 3, 3],
      frameBias: [1, 5, 9],
    },
    attrs: { padding: [2, 1, 1, 1, 1, 1], framePadding: "replicate" },
    outGap: 1,
  },
  {
    name: "3x3x3 step 2 in frames, the borders again",
    inputs: { x: [2, 5, 6, 5, 16], weight: [16, 16, 3, 3, 3] },
    attrs: { stride: [2, 1, 1], padding: around(1, 1), framePadding: "replicate" },
  },
  {
    name: "3x3x3 step 2 everywhere behind 2 past frames",
    inputs: { x: [1, 4, 7, 8, 16], past: [1, 2, 7, 8, 16], weight: [20, 16, 3, 3, 3] },
    attrs: { stride: [2, 2, 2], padding: around(0, 1) },
  },
  {
    name: "3x1x1 behind 2 past frames",
    inputs: { x: [1, 4, 5, 6, 32], past: [1, 2, 5, 6, 32], weight: [16, 32, 3, 1, 1] },
  },
  {
    name: "3x1x1 step 2 in frames, causal",
    inputs: { x: [1, 5, 4, 6, 8], weight: [8, 8, 3, 1, 1] },
    attrs: { stride: [2, 1, 1], padding: [2, 0, 0, 0, 0, 0], framePadding: "replicate" },
  },
  {
    name: "1x1 behind past frames",
    inputs: { x: [2, 2, 3, 4, 8], past: [2, 1, 3, 4, 8], weight: [8, 8, 1, 1, 1] },
  },
  {
    name: "2x3x3 behind past frames, doubled",
    inputs: { x: [1, 2, 3, 4, 16], past: [1, 1, 3, 4, 16], weight: [16, 16, 2, 3, 3] },
    attrs: { upsample: true, padding: around(0, 1) },
  },
  {
    name: "3x3x3 from 3 to 16, causal by the first frame",
    inputs: { x: [1, 3, 6, 7, 3], weight: [16, 3, 3, 3, 3] },
    attrs: { padding: [2, 0, 1, 1, 1, 1], framePadding: "replicate" },
  },
  {
    name: "3x3x3 from 3 to 3 behind past frames",
    inputs: { x: [1, 2, 6, 7, 3], past: [1, 2, 6, 7, 3], weight: [3, 3, 3, 3, 3] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "3x3x3 in 2 groups behind past frames",
    inputs: { x: [1, 2, 4, 5, 32], past: [1, 2, 4, 5, 32], weight: [32, 16, 3, 3, 3] },
    attrs: { groups: 2, padding: around(0, 1) },
  },
  {
    name: "3x3x3 of one frame, padded by it on both sides",
    inputs: { x: [1, 1, 4, 5, 16], weight: [16, 16, 3, 3, 3] },
    attrs: { padding: around(1, 1), framePadding: "replicate" },
  },
];

/** 4x4 filters that double height and width. */
export const transposed: Case[] = (
  [
    { name: "transposed", inputs: { x: [2, 2, 4, 5, 12], weight: [12, 20, 1, 4, 4] } },
    { name: "transposed of one pixel", inputs: { x: [1, 1, 1, 1, 5], weight: [5, 3, 1, 4, 4] } },
    {
      name: "transposed 64 to 64, everything",
      inputs: {
        x: { dims: [1, 2, 9, 17, 64], gap: 8 },
        weight: [64, 64, 1, 4, 4],
        bias: [64],
        frameBias: [1, 2, 64],
        residual: [1, 2, 18, 34, 64],
        residual2: { dims: [1, 2, 18, 34, 64], gap: 8 },
      },
      attrs: { act: "silu", outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
      outGap: 8,
    },
    {
      name: "transposed weight f16 at byte 3",
      inputs: { x: [1, 2, 3, 4, 10], weight: { dims: [10, 9, 1, 4, 4], dtype: "f16", shiftBytes: 3 }, bias: [9] },
    },
    {
      name: "transposed, weight that may change",
      inputs: { x: [1, 1, 3, 4, 8], weight: { dims: [8, 16, 1, 4, 4], constant: false } },
    },
    { name: "transposed 8 to 3", inputs: { x: [1, 2, 5, 6, 8], weight: [8, 3, 1, 4, 4] } },
  ] satisfies Case[]
).map((each: Case) => ({
  ...each,
  attrs: { ...each.attrs, transposed: true, stride: [1, 2, 2], padding: around(0, 1) },
}));

/** The moments of the result: of frames that whole tiles cover, where kernels find them on the way, and of others. */
export const measured: Case[] = [
  {
    name: "moments of one tile",
    inputs: { x: [1, 1, 8, 16, 64], weight: [96, 64, 1, 1, 1], residual: [1, 1, 8, 16, 96] },
  },
  {
    name: "moments of whole tiles",
    inputs: { x: [2, 3, 16, 16, 64], weight: [128, 64, 1, 3, 3], bias: [128] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "moments of whole tiles and a tile of columns that is not, with a frame bias",
    inputs: { x: [1, 2, 8, 32, 72], weight: [320, 72, 1, 3, 3], bias: [320], frameBias: [1, 2, 320] },
    attrs: { padding: around(0, 1) },
  },
  {
    name: "moments of a blend over frames",
    inputs: {
      x: [1, 5, 8, 16, 128],
      weight: [160, 128, 3, 1, 1],
      bias: [160],
      residual: { dims: [1, 5, 8, 16, 160], fill: { mean: 20, deviation: 1 } },
      residual2: [1, 5, 8, 16, 160],
    },
    attrs: { padding: around(1, 0), outScale: 0.5, residualScale: 0.75, residual2Scale: 2 },
  },
  {
    name: "moments of a residual on a gap",
    inputs: { x: [1, 3, 24, 16, 64], weight: [96, 64, 1, 1, 3], residual: { dims: [1, 3, 24, 16, 96], gap: 8 } },
    attrs: { padding: around(0, 0, 1) },
    outGap: 16,
  },
  {
    name: "moments of a map that doubles",
    inputs: { x: [2, 2, 8, 16, 64], weight: [256, 64, 1, 3, 3], bias: [256] },
    attrs: { padding: around(0, 1), upsample: true },
  },
  {
    name: "moments of a transposed convolution",
    inputs: { x: [1, 2, 8, 16, 32], weight: [32, 64, 1, 4, 4] },
    attrs: { transposed: true, stride: [1, 2, 2], padding: around(0, 1) },
  },
  {
    name: "moments of odd sizes, activated",
    inputs: { x: [2, 2, 5, 27, 13], weight: [11, 13, 1, 3, 3], bias: [11] },
    attrs: { padding: around(0, 1), act: "silu" },
  },
  {
    name: "moments of groups",
    inputs: { x: [1, 2, 16, 8, 128], weight: [128, 64, 1, 3, 3] },
    attrs: { padding: around(0, 1), groups: 2 },
  },
  {
    name: "moments of a filter for every channel",
    inputs: { x: [1, 2, 12, 20, 32], weight: [32, 1, 1, 3, 3], bias: [32] },
    attrs: { padding: around(0, 1), groups: 32 },
  },
  {
    name: "moments behind past frames",
    inputs: { x: [1, 3, 8, 16, 64], past: [1, 2, 8, 16, 64], weight: [64, 64, 3, 1, 1] },
  },
  {
    name: "moments of 1x1 filters, two frames of which fill a tile",
    inputs: { x: [1, 2, 8, 8, 64], weight: [96, 64, 1, 1, 1] },
  },
  { name: "moments of one pixel", inputs: { x: [1, 2, 1, 1, 24], weight: [32, 24, 1, 1, 1] } },
].map((each): Case => ({ ...(each as Case), also: ["moments"] }));

/** Many filters, whose results leave a tile at once: with what is added to them, on gaps, doubled, and with a tile that is not whole. */
export const wide: Case[] = [
  {
    name: "3x3 of 256 filters, everything",
    inputs: {
      x: { dims: [2, 2, 9, 23, 72], gap: 8 },
      weight: [256, 72, 1, 3, 3],
      bias: [256],
      frameBias: [2, 2, 256],
      residual: { dims: [2, 2, 9, 23, 256], gap: 16 },
      residual2: [2, 2, 9, 23, 256],
    },
    attrs: { padding: around(0, 1), outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    outGap: 8,
  },
  {
    name: "3x1x1 of 392 filters over many frames",
    inputs: { x: [2, 9, 3, 11, 64], weight: [392, 64, 3, 1, 1], bias: [392], residual: [2, 9, 3, 11, 392] },
    attrs: { padding: around(1, 0) },
  },
  {
    name: "3x1x1 of 320 filters, small frames, a bias of each clip",
    inputs: { x: [2, 9, 3, 5, 64], weight: [320, 64, 3, 1, 1], bias: [320], frameBias: [2, 1, 320] },
    attrs: { padding: around(1, 0) },
  },
  {
    name: "doubled by 512 filters, on a gap",
    inputs: { x: [2, 3, 8, 32, 64], weight: [512, 64, 1, 3, 3], bias: [512], frameBias: [2, 3, 512] },
    attrs: { padding: around(0, 1), upsample: true },
    outGap: 24,
  },
  {
    name: "doubled by 256 filters, rows that tiles do not fill",
    inputs: { x: [1, 2, 7, 11, 64], weight: [256, 64, 1, 3, 3] },
    attrs: { padding: around(0, 1), upsample: true },
  },
];
