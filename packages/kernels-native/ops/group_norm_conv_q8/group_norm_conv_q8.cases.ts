import { type CaseOf, defineCases, epilogueCases, type Operand } from "../../contract/define-case";
import groupNormConvQ8 from "./group_norm_conv_q8.op";

type Case = CaseOf<typeof groupNormConvQ8>;
type Dims = readonly [number, number, number, number, number];

const codes = (dims: readonly number[]): Operand => ({ dims, dtype: "f8e4m3", fill: { mean: 0, deviation: 40 } });
const scales = (dims: readonly number[]): Operand => ({ dims, fill: { mean: 0.025, deviation: 0.005 } });
/** Leaves room for 8 deviations of what is normalised, and more. */
const normScale: Operand = { dims: [1, 1, 1, 1], fill: { values: [0.02] } };

interface Shape {
  name: string;
  x: Dims;
  rows: number;
  /** Frames that have statistics of their own; default: one for all. */
  frames?: number;
  groups?: number;
  /** Default: over frames. */
  filter?: readonly [number, number, number];
  /** Of filters over frames; default: one frame at each end. */
  padding?: readonly [number, number];
  more?: Partial<Case>;
}

const INSIDE_FRAMES = [1, 3, 3] as const;

function shape({
  name,
  x,
  rows,
  frames = 1,
  groups = 4,
  filter = [3, 1, 1],
  padding = [1, 1],
  more = {},
}: Shape): Case {
  const channels = x[4];
  return {
    name,
    ...more,
    inputs: {
      x,
      normScale,
      weight: codes([rows, channels, ...filter]),
      weightScale: scales([rows, 1]),
      stats: { dims: [x[0], frames, groups, 2], fill: { mean: 0.9, deviation: 0.1 } },
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
  { name: "one frame of one pixel", x: [1, 1, 1, 1, 8], rows: 64 },
  { name: "two frames, odd sizes", x: [2, 2, 7, 9, 16], rows: 64 },
  { name: "five frames of a few pixels, 128 channels", x: [1, 5, 3, 7, 128], rows: 128, groups: 32 },
  { name: "channels that 8 does not divide", x: [1, 3, 5, 6, 7], rows: 13, groups: 1 },
  { name: "72 channels to 96, pixels beyond a frame's end", x: [2, 5, 9, 31, 72], rows: 96, groups: 9 },
  { name: "128 channels, statistics of each frame", x: [1, 4, 16, 16, 128], rows: 128, groups: 32, frames: 4 },
  { name: "more pixels than blocks take at once", x: [1, 2, 131, 131, 72], rows: 32, groups: 9 },
  { name: "no activation", x: [1, 3, 6, 5, 16], rows: 64, more: { attrs: { normAct: "none" } } },
  { name: "gelu before", x: [1, 3, 6, 5, 16], rows: 64, more: { attrs: { normAct: "gelu" } } },
  { name: "more channels than a block keeps", x: [1, 3, 6, 5, 136], rows: 64 },
  { name: "more filters than a block keeps", x: [1, 3, 6, 5, 64], rows: 136 },
  { name: "neighbours in front", x: [2, 5, 9, 9, 64], rows: 64, padding: [0, 1] },
  { name: "neighbours behind", x: [1, 4, 9, 9, 72], rows: 72, padding: [1, 0] },
  { name: "neighbours on both sides of one result", x: [2, 3, 9, 9, 128], rows: 128, padding: [0, 0] },
  {
    name: "one scale for all filters",
    x: [1, 3, 6, 5, 48],
    rows: 64,
    more: { inputs: { weightScale: scales([1, 1]) } as Case["inputs"] },
  },
  { name: "every operand, on aligned gaps", x: [2, 3, 6, 7, 16], rows: 64, frames: 3, more: everyOperand },
  {
    name: "on gaps",
    x: [1, 4, 6, 5, 16],
    rows: 64,
    more: { inputs: { x: onGap([1, 4, 6, 5, 16], 8) } as Case["inputs"], outGap: 8 },
  },
  ...[
    { name: "odd sizes", x: [2, 2, 7, 9, 16], rows: 64, frames: 2 } as const,
    { name: "72 channels to 128, statistics over frames", x: [1, 3, 9, 14, 72], rows: 128, groups: 9 } as const,
    { name: "every operand, on aligned gaps", x: [2, 3, 6, 7, 16], rows: 64, more: everyOperand } as const,
  ].map((each): Shape => ({ ...each, name: `inside frames, ${each.name}`, filter: INSIDE_FRAMES })),
];

/** The moments of the result: of frames that whole tiles cover, where kernels find them on the way, and of others. */
const moments: Shape[] = [
  { name: "moments of whole tiles", x: [2, 5, 16, 24, 128], rows: 128 },
  {
    name: "moments of whole tiles with every operand",
    x: [1, 3, 8, 32, 64],
    rows: 128,
    more: {
      inputs: {
        bias: [128],
        frameBias: [1, 3, 128],
        residual: [1, 3, 8, 32, 128],
        residual2: [1, 3, 8, 32, 128],
      } as Case["inputs"],
      attrs: { outScale: 0.5, residualScale: 2, residual2Scale: -0.5 },
    },
  },
  { name: "moments of frames that tiles do not cover", x: [1, 3, 9, 7, 24], rows: 64 },
  { name: "inside frames, moments", x: [1, 2, 12, 10, 24], rows: 64, frames: 2, filter: INSIDE_FRAMES },
];

const epilogue = epilogueCases({ out: [2, 3, 3, 6, 64], rows: 64 }).map(
  (each): Shape => ({
    name: each.name,
    x: [2, 3, 3, 6, 16],
    rows: 64,
    more: { attrs: each.attrs, inputs: each.inputs as Case["inputs"] },
  }),
);

/** A timed layer of the video decoder behind its norm: SiLU, 32 groups, statistics of the clip, and the moments of the result. */
const layer = (name: string, x: Dims, residual = false): Case => ({
  ...shape({
    ...{ name, x, rows: 128, groups: 32 },
    more: { inputs: { bias: [128], ...(residual && { residual: x }) } as Case["inputs"] },
  }),
  also: ["moments"],
});

export default defineCases(groupNormConvQ8, {
  correctness: [
    ...[...shapes, ...epilogue].map(shape),
    ...moments.map((each): Case => ({ ...shape(each), also: ["moments"] })),
  ],
  bench: [
    layer("svd-xt.vae.up3.time1.conv1", [1, 8, 576, 1024, 128]),
    layer("svd-xt.vae.up3.time1.conv2", [1, 8, 576, 1024, 128], true),
  ],
});
