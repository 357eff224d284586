import { type CaseOf, defineCases, epilogueCases, type Operand } from "../../contract/define-case";
import groupNormConv from "./group_norm_conv.op";

type Case = CaseOf<typeof groupNormConv>;
type Dims = readonly [number, number, number, number, number];

/** Statistics of maps with mean 0 and deviation 1, about. */
const stats = (clips: number, frames: number, groups: number): Operand => ({
  dims: [clips, frames, groups, 2],
  fill: { mean: 0.9, deviation: 0.1 },
});

interface Shape {
  name: string;
  x: Dims;
  rows: number;
  /** Frames that have statistics of their own; default: all. */
  frames?: number;
  groups?: number;
  /** Default: 3x3 inside a frame. */
  filter?: readonly [number, number, number];
  /** Of filters over frames; default: one frame at each end. */
  padding?: readonly [number, number];
  more?: Partial<Case>;
}

/** Filters over frames. */
const OVER_FRAMES = [3, 1, 1] as const;

function shape({
  name,
  x,
  rows,
  frames = x[1],
  groups = 4,
  filter = [1, 3, 3],
  padding = [1, 1],
  more = {},
}: Shape): Case {
  const channels = x[4];
  return {
    name,
    ...more,
    inputs: {
      x,
      weight: [rows, channels, ...filter],
      stats: stats(x[0], frames, groups),
      normWeight: [channels],
      normBias: [channels],
      ...more.inputs,
    } as Case["inputs"],
    attrs: { normAct: "silu", ...(filter[0] === 3 && { temporalPadding: padding }), ...more.attrs },
  };
}

/** Pads the channels of an operand's pixels. */
const onGap = (dims: readonly number[], gap: number): Operand => ({ dims: [...dims], gap });

const everyOperand: Partial<Case> = {
  inputs: {
    bias: [64],
    frameBias: onGap([2, 3, 64], 8),
    residual: onGap([2, 3, 6, 7, 64], 8),
    residual2: onGap([2, 3, 6, 7, 64], 16),
  } as Case["inputs"],
  attrs: { outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
  outGap: 24,
};

const shapes: Shape[] = [
  { name: "one pixel", x: [1, 1, 1, 1, 8], rows: 64 },
  { name: "odd sizes", x: [2, 2, 7, 9, 16], rows: 64 },
  { name: "channels that 8 does not divide", x: [1, 2, 5, 6, 7], rows: 13, groups: 1 },
  { name: "72 channels to 128", x: [1, 3, 9, 14, 72], rows: 128, groups: 9 },
  { name: "tiles beyond a frame's borders", x: [1, 2, 35, 19, 64], rows: 136 },
  { name: "groups of one channel", x: [1, 1, 4, 5, 24], rows: 32, groups: 24 },
  { name: "statistics over frames", x: [2, 3, 5, 7, 16], rows: 64, frames: 1 },
  { name: "no activation", x: [1, 2, 6, 5, 16], rows: 64, more: { attrs: { normAct: "none" } } },
  { name: "gelu before", x: [1, 2, 6, 5, 16], rows: 64, more: { attrs: { normAct: "gelu" } } },
  { name: "gelu before and after", x: [1, 2, 6, 5, 16], rows: 64, more: { attrs: { normAct: "gelu", act: "gelu" } } },
  {
    name: "on gaps",
    x: [1, 2, 6, 5, 16],
    rows: 64,
    more: { inputs: { x: onGap([1, 2, 6, 5, 16], 8) } as Case["inputs"], outGap: 8 },
  },
  { name: "256 channels to 320", x: [1, 1, 8, 8, 256], rows: 320, groups: 32 },
  { name: "more tiles than multiprocessors", x: [2, 35, 16, 8, 8], rows: 512 },
  { name: "every operand, on aligned gaps", x: [2, 3, 6, 7, 16], rows: 64, more: everyOperand },
  ...(
    [
      { name: "one frame of one pixel", x: [1, 1, 1, 1, 8], rows: 64 },
      { name: "two frames, odd sizes", x: [2, 2, 7, 9, 16], rows: 64 },
      { name: "channels that 8 does not divide", x: [1, 3, 5, 6, 7], rows: 13, groups: 1 },
      { name: "72 channels to 96, pixels beyond a frame's end", x: [2, 5, 9, 31, 72], rows: 96, groups: 9, frames: 1 },
      { name: "128 channels, statistics of each frame", x: [1, 4, 16, 16, 128], rows: 128, groups: 32 },
      { name: "more pixels than blocks take at once", x: [1, 2, 131, 131, 72], rows: 32, groups: 9, frames: 1 },
      { name: "no activation", x: [1, 3, 6, 5, 16], rows: 64, more: { attrs: { normAct: "none" } } },
      { name: "more channels than a block keeps", x: [1, 3, 6, 5, 136], rows: 64, frames: 1 },
      { name: "more filters than a block keeps", x: [1, 3, 6, 5, 64], rows: 136, frames: 1 },
      { name: "neighbours in front", x: [2, 5, 9, 9, 64], rows: 64, padding: [0, 1] },
      { name: "neighbours behind", x: [1, 4, 9, 9, 72], rows: 72, frames: 1, padding: [1, 0] },
      { name: "neighbours on both sides of one result", x: [2, 3, 9, 9, 128], rows: 128, frames: 1, padding: [0, 0] },
      { name: "every operand, on aligned gaps", x: [2, 3, 6, 7, 16], rows: 64, more: everyOperand },
    ] satisfies Shape[]
  ).map((each): Shape => ({ ...each, name: `over frames, ${each.name}`, filter: OVER_FRAMES })),
];

/** To few channels, whose filters of all taps are multiplied at once. */
const few: Shape[] = (
  [
    { name: "one pixel", x: [1, 1, 1, 1, 32], rows: 3 },
    { name: "tiles beyond a frame's borders", x: [2, 2, 35, 37, 64], rows: 3 },
    { name: "one channel", x: [1, 2, 17, 33, 32], rows: 1, more: { inputs: { bias: [1] } as Case["inputs"] } },
    { name: "two channels, statistics over frames", x: [2, 2, 16, 32, 96], rows: 2, frames: 1 },
    { name: "four channels of 256", x: [1, 1, 18, 34, 256], rows: 4, groups: 32 },
    { name: "128 channels to 3, no activation", x: [1, 2, 9, 40, 128], rows: 3, more: { attrs: { normAct: "none" } } },
    {
      ...{ name: "every operand, on gaps", x: [2, 3, 20, 9, 64], rows: 3 },
      more: {
        inputs: {
          x: onGap([2, 3, 20, 9, 64], 8),
          bias: [3],
          frameBias: onGap([2, 3, 3], 5),
          residual: onGap([2, 3, 20, 9, 3], 1),
          residual2: onGap([2, 3, 20, 9, 3], 4),
        } as Case["inputs"],
        attrs: { act: "silu", outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
        outGap: 2,
      },
    },
  ] satisfies Shape[]
).map((each): Shape => ({ ...each, name: `few, ${each.name}` }));

/** The moments of the result: of frames that whole tiles cover, where kernels find them on the way, and of others. */
const moments: Shape[] = [
  { name: "moments of one tile", x: [1, 1, 16, 8, 32], rows: 256 },
  { name: "moments of whole tiles", x: [1, 3, 32, 16, 64], rows: 128 },
  {
    name: "moments of whole tiles and a tile of columns that is not, with every operand",
    x: [1, 2, 32, 16, 72],
    rows: 320,
    more: {
      inputs: {
        bias: [320],
        frameBias: [1, 2, 320],
        residual: [1, 2, 32, 16, 320],
        residual2: [1, 2, 32, 16, 320],
      } as Case["inputs"],
      attrs: { outScale: 0.5, residualScale: 2, residual2Scale: -0.5 },
    },
  },
  { name: "moments of frames that tiles do not cover", x: [1, 2, 12, 10, 24], rows: 64 },
  { name: "over frames, moments of whole tiles", x: [2, 5, 16, 24, 128], rows: 128, frames: 1, filter: OVER_FRAMES },
  {
    ...{
      name: "over frames, moments of whole tiles with residuals",
      x: [1, 3, 8, 32, 64],
      rows: 128,
      frames: 1,
      filter: OVER_FRAMES,
    },
    more: {
      inputs: { bias: [128], residual: [1, 3, 8, 32, 128], residual2: [1, 3, 8, 32, 128] } as Case["inputs"],
      attrs: { outScale: 0.5, residualScale: 2, residual2Scale: -0.5 },
    },
  },
  {
    name: "over frames, moments of frames that tiles do not cover",
    x: [1, 3, 9, 7, 24],
    rows: 64,
    filter: OVER_FRAMES,
  },
];

const epilogue = epilogueCases({ out: [2, 3, 3, 6, 64], rows: 64 }).map(
  (each): Shape => ({
    name: each.name,
    x: [2, 3, 3, 6, 16],
    rows: 64,
    more: { attrs: each.attrs, inputs: each.inputs as Case["inputs"] },
  }),
);

/** A timed layer of the video decoder behind its norm: SiLU, 32 groups, statistics of each frame, and the moments of the result. */
const layer = (name: string, x: Dims, rows: number, residual = false, rest: Partial<Shape> = {}): Case => ({
  ...shape({
    ...{ name, x, rows, groups: 32, ...rest },
    more: { inputs: { bias: [rows], ...(residual && { residual: [...x.slice(0, 4), rows] }) } as Case["inputs"] },
  }),
  also: ["moments"],
});

export default defineCases(groupNormConv, {
  correctness: [
    ...[...shapes, ...few, ...epilogue].map(shape),
    ...moments.map((each): Case => ({ ...shape(each), also: ["moments"] })),
  ],
  bench: [
    layer("svd-xt.vae.up3.res1.conv1", [1, 4, 576, 1024, 128], 128),
    layer("svd-xt.vae.up3.res1.conv2", [1, 4, 576, 1024, 128], 128, true),
    layer("svd-xt.vae.up3.res0.conv1", [1, 4, 576, 1024, 256], 128),
    layer("svd-xt.vae.up2.res1.conv2", [1, 8, 288, 512, 256], 256, true),
    layer("svd-xt.vae.up2.res0.conv1", [1, 8, 288, 512, 512], 256),
    layer("svd-xt.vae.up1.res1.conv2", [1, 16, 144, 256, 512], 512, true),
    { ...layer("svd-xt.vae.conv_out", [1, 8, 576, 1024, 128], 3), also: [] },
    layer("svd-xt.vae.up3.time1.conv1", [1, 8, 576, 1024, 128], 128, false, { filter: OVER_FRAMES, frames: 1 }),
    layer("svd-xt.vae.up3.time1.conv2", [1, 8, 576, 1024, 128], 128, true, { filter: OVER_FRAMES, frames: 1 }),
  ],
});
