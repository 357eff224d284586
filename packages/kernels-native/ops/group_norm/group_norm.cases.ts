import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import { POINTWISE_ACTIVATIONS } from "../../contract/epilogue";
import groupNorm from "./group_norm.op";

type Case = CaseOf<typeof groupNorm>;

/** x with its scale and shift; the channels of x2 come behind those of x. */
function norm(
  name: string,
  x: Operand["dims"],
  attrs: Case["attrs"],
  more: { inputs?: Case["inputs"]; extra?: number } = {},
): Case {
  const channels = x[4]! + (more.extra ?? 0);
  return {
    name,
    inputs: { x, weight: [channels], bias: [channels], ...more.inputs },
    attrs: { groups: 8, eps: 1e-5, ...attrs },
  };
}

const shapes: Case[] = [
  norm("one pixel, one channel a group", [2, 1, 1, 1, 8], {}),
  norm("one group", [1, 2, 3, 4, 7], { groups: 1 }),
  norm("as many groups as channels", [1, 2, 5, 4, 32], { groups: 32 }),
  norm("odd sizes", [2, 3, 5, 7, 24], {}),
  norm("groups of 3", [1, 2, 5, 7, 96], { groups: 32 }),
  norm("groups of 10", [1, 1, 6, 5, 320], { groups: 32 }),
  norm("many pixels", [1, 2, 40, 37, 16], { groups: 4 }),
  norm("joined frames", [2, 5, 3, 4, 64], { groups: 32, joinFrames: true }),
  norm("joined, one frame", [1, 1, 3, 4, 32], { groups: 16, joinFrames: true }),
  norm("eps 0", [1, 1, 4, 5, 16], { eps: 0 }),
  norm("large eps", [1, 1, 4, 5, 16], { eps: 0.5 }),
  norm(
    "big mean",
    [1, 2, 8, 8, 16],
    {},
    { inputs: { x: { dims: [1, 2, 8, 8, 16], fill: { mean: 10, deviation: 1 } } } },
  ),
  norm(
    "small numbers",
    [1, 1, 8, 8, 16],
    { eps: 1e-6 },
    { inputs: { x: { dims: [1, 1, 8, 8, 16], fill: { mean: 0, deviation: 0.003 } } } },
  ),
];

/** Many frames, few chunks of them, and short last chunks. */
const frames: Case[] = [
  norm("more frames than are under way at a time", [2, 1100, 1, 1, 8], {}),
  norm("few frames, two chunks, the last one short", [1, 3, 39, 37, 16], { groups: 4, act: "silu" }),
  norm(
    "one frame, two inputs, the last chunk short",
    [1, 1, 13, 37, 40],
    { groups: 3, act: "gelu" },
    {
      inputs: { x2: { dims: [1, 1, 13, 37, 8], gap: 8 } },
      extra: 8,
    },
  ),
  norm(
    "frames with a big mean",
    [2, 6, 9, 7, 16],
    { groups: 2, act: "silu" },
    { inputs: { x: { dims: [2, 6, 9, 7, 16], fill: { mean: 10, deviation: 1 } } } },
  ),
  norm("two pixels, more vectors of channels than a block has threads", [1, 3, 1, 2, 2568], { groups: 3 }),
];

const acts = POINTWISE_ACTIVATIONS.flatMap((act) =>
  [false, true].map((joinFrames) =>
    norm(`${act}, ${joinFrames ? "joined" : "per frame"}`, [2, 2, 3, 5, 24], { act, joinFrames }),
  ),
);

const views: Case[] = [
  {
    ...norm(
      "on gaps",
      [2, 2, 4, 3, 24],
      { act: "silu" },
      { inputs: { x: { dims: [2, 2, 4, 3, 24], gap: 9, shiftBytes: 4 } } },
    ),
    outGap: 5,
  },
  norm("two inputs", [2, 2, 4, 3, 16], {}, { inputs: { x2: [2, 2, 4, 3, 8] }, extra: 8 }),
  norm(
    "two inputs, a group across both",
    [1, 2, 4, 3, 13],
    { groups: 3 },
    { inputs: { x2: [1, 2, 4, 3, 5] }, extra: 5 },
  ),
  norm(
    "two inputs, joined, silu",
    [1, 3, 4, 3, 20],
    { groups: 4, joinFrames: true, act: "silu" },
    {
      inputs: { x: { dims: [1, 3, 4, 3, 20], gap: 1 }, x2: { dims: [1, 3, 4, 3, 12], gap: 3 } },
      extra: 12,
    },
  ),
];

/** 1/sqrt of a variance is positive. */
const stats = (dims: number[]): Operand => ({ dims, fill: { mean: 2, deviation: 0.1 } });
const given: Case[] = [
  norm("given statistics", [2, 3, 4, 3, 16], { act: "silu" }, { inputs: { stats: stats([2, 3, 8, 2]) } }),
  norm(
    "given statistics, joined",
    [2, 3, 4, 3, 16],
    { joinFrames: true },
    { inputs: { stats: { ...stats([2, 1, 8, 2]), gap: 2 } } },
  ),
  norm(
    "given statistics, two inputs",
    [1, 3, 4, 3, 13],
    { groups: 3 },
    {
      inputs: { stats: stats([1, 3, 3, 2]), x2: [1, 3, 4, 3, 5] },
      extra: 5,
    },
  ),
];

const types: Case[] = (["f32", "f16", "bf16"] as const).flatMap((dtype) => [
  norm(
    `weights ${dtype}`,
    [1, 2, 3, 5, 24],
    {},
    { inputs: { weight: { dims: [24], dtype }, bias: { dims: [24], dtype, shiftBytes: 1 } } },
  ),
  norm(
    `weights ${dtype}, scale at byte 3`,
    [1, 2, 3, 5, 24],
    { act: "silu" },
    { inputs: { weight: { dims: [24], dtype, shiftBytes: 3 } } },
  ),
]);
types.push(
  norm(
    "scale and shift that may change",
    [1, 2, 3, 5, 24],
    {},
    {
      inputs: { weight: { dims: [24], constant: false }, bias: { dims: [24], constant: false } },
    },
  ),
  norm("x f16", [1, 2, 3, 5, 24], {}, { inputs: { x: { dims: [1, 2, 3, 5, 24], dtype: "f16" } } }),
  norm("x bf16", [1, 2, 3, 5, 24], {}, { inputs: { x: { dims: [1, 2, 3, 5, 24], dtype: "bf16" } } }),
);

const silu = { groups: 32, eps: 1e-6, act: "silu" };

export default defineCases(groupNorm, {
  correctness: [...shapes, ...frames, ...acts, ...views, ...given, ...types],
  bench: [
    norm("tiny.unet.down0.res0.norm1", [2, 14, 16, 16, 64], silu),
    norm("tiny.unet.down0.res0.temporal.norm1", [2, 14, 16, 16, 64], { ...silu, joinFrames: true }),
    norm("tiny.unet.up2.res0.norm1", [2, 14, 16, 16, 64], silu, { inputs: { x2: [2, 14, 16, 16, 64] }, extra: 64 }),
    norm("tiny.vae.up3.res0.norm1", [1, 14, 128, 128, 64], silu),
    norm("svd-xt.unet.down0.res0.norm1", [2, 25, 72, 128, 320], silu),
    norm("svd-xt.unet.down1.res1.norm1", [2, 25, 36, 64, 640], silu),
    norm("svd-xt.unet.down2.res1.norm1", [2, 25, 18, 32, 1280], silu),
    norm("svd-xt.unet.up3.res1.norm1", [2, 25, 72, 128, 320], silu, {
      inputs: { x2: [2, 25, 72, 128, 320] },
      extra: 320,
    }),
    norm("svd-xt.unet.down0.res0.temporal.norm1", [2, 25, 72, 128, 320], { ...silu, joinFrames: true }),
    norm("svd-xt.unet.up3.res0.norm1", [2, 25, 72, 128, 640], silu, {
      inputs: { x2: [2, 25, 72, 128, 320] },
      extra: 320,
    }),
    norm("svd-xt.vae.up3.res0.norm1", [1, 8, 576, 1024, 256], silu),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    norm("one-core.4 frames of 320", [1, 4, 36, 64, 320], silu),
  ],
});
