import { type CaseOf, defineCases, epilogueCases, type Operand } from "../../contract/define-case";
import convWinograd from "./conv_winograd.op";

type Case = CaseOf<typeof convWinograd>;

/** Statistics of maps with mean 0 and deviation 1, about. */
const stats = (clips: number, frames: number, groups: number): Operand => ({
  dims: [clips, frames, groups, 2],
  fill: { mean: 0.9, deviation: 0.1 },
});

interface Shape {
  name: string;
  x: readonly [number, number, number, number, number];
  rows: number;
  x2?: number;
  /** Frames that have statistics, and groups. */
  norm?: readonly [frames: number, groups: number];
  more?: Partial<Case>;
}

function shape({ name, x, rows, x2 = 0, norm, more = {} }: Shape): Case {
  const channels = x[4] + x2;
  return {
    name,
    ...more,
    inputs: {
      x,
      ...(x2 > 0 && { x2: [x[0], x[1], x[2], x[3], x2] }),
      weight: [rows, channels, 1, 3, 3],
      ...(norm && { stats: stats(x[0], norm[0], norm[1]), normWeight: [channels], normBias: [channels] }),
      ...more.inputs,
    } as Case["inputs"],
    attrs: { ...(norm && { normAct: "silu" }), ...more.attrs },
  };
}

const shapes: Shape[] = [
  { name: "one pixel", x: [1, 1, 1, 1, 8], rows: 64 },
  { name: "odd sizes", x: [2, 2, 7, 9, 16], rows: 64 },
  { name: "channels that 8 does not divide", x: [1, 2, 5, 6, 7], rows: 13 },
  { name: "72 channels to 128", x: [1, 3, 9, 14, 72], rows: 128 },
  { name: "tiles beyond a block", x: [1, 1, 6, 45, 16], rows: 64 },
  { name: "normed", x: [2, 3, 5, 7, 24], rows: 64, norm: [3, 8] },
  { name: "normed over frames", x: [2, 3, 5, 7, 16], rows: 64, norm: [1, 4] },
  { name: "normed, two inputs, a group across both", x: [1, 2, 6, 5, 24], x2: 40, rows: 64, norm: [2, 4] },
  {
    name: "normed, on gaps",
    x: [1, 2, 6, 5, 16],
    rows: 64,
    norm: [2, 4],
    more: { inputs: { x: { dims: [1, 2, 6, 5, 16], gap: 8 } } as Case["inputs"], outGap: 8 },
  },
  { name: "256 channels to 320", x: [1, 1, 8, 8, 256], rows: 320, norm: [1, 32] },
  {
    name: "every operand, on aligned gaps",
    x: [2, 3, 6, 7, 16],
    rows: 64,
    norm: [3, 4],
    more: {
      inputs: {
        bias: [64],
        frameBias: { dims: [2, 3, 64], gap: 8 },
        residual: { dims: [2, 3, 6, 7, 64], gap: 8 },
        residual2: { dims: [2, 3, 6, 7, 64], gap: 16 },
      } as Case["inputs"],
      attrs: { act: "gelu", outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
      outGap: 24,
    },
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

/** A timed layer after its norm, as in SVD: SiLU, 32 groups, a bias and a row for every frame. */
const layer = (name: string, x: [number, number, number, number, number], rows: number, x2 = 0): Case =>
  shape({
    ...{ name, x, rows, x2, norm: [x[1], 32] },
    more: { inputs: { bias: [rows], frameBias: [x[0], x[1], rows] } as Case["inputs"] },
  });

export default defineCases(convWinograd, {
  correctness: [...shapes, ...epilogue].map(shape),
  bench: [
    layer("svd-xt.unet.down0.res0.conv1", [2, 25, 72, 128, 320], 320),
    layer("svd-xt.unet.up3.res0.conv1", [2, 25, 72, 128, 640], 320, 320),
    layer("svd-xt.unet.down1.res0.conv2", [2, 25, 36, 64, 640], 640),
    layer("svd-xt.unet.up1.res2.conv1", [2, 25, 18, 32, 1280], 1280, 640),
    layer("svd-xt.vae.up1.res0.conv1", [1, 8, 144, 256, 512], 512),
  ],
});
