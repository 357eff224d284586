import { defineCases, type Operand } from "../../contract/define-case";
import attention from "./attention.op";
import { type Case, causal, frames, norms, rotary, space, time, weightOf } from "./attention-kinds";
import { tiles } from "./attention-tiles";

const plain: Case[] = [
  space("one query, one key", [1, 1, 1, 1, 1, 1]),
  space("head of 40", [1, 1, 33, 33, 2, 40]),
  space("head of 64", [2, 3, 17, 17, 2, 64]),
  space("head of 32", [1, 1, 21, 40, 2, 32]),
  space("head of 80", [1, 1, 35, 34, 2, 80]),
  space("head of 96", [1, 1, 18, 37, 2, 96]),
  space("head of 128", [1, 1, 17, 35, 2, 128]),
  space("head of 256", [1, 1, 18, 33, 1, 256]),
  space("head of 160", [1, 2, 10, 33, 1, 160]),
  space("head of 512", [1, 1, 10, 11, 1, 512]),
  space("head of 512, several tiles", [1, 1, 85, 133, 1, 512]),
  ...[32, 33, 64, 97].map((keys) => space(`head of 512, ${keys} keys`, [1, 1, 65, keys, 1, 512])),
  space("heads of 512 in clips of two frames", [2, 2, 130, 75, 2, 512]),
  space("heads of 512, one frame of keys for all", [2, 3, 40, 50, 1, 512], { fk: 1 }),
  space("head of 3", [1, 2, 9, 13, 5, 3]),
  space("many keys", [1, 1, 7, 613, 1, 16]),
  space("many queries", [1, 1, 301, 5, 2, 8]),
  space("more tiles of queries than multiprocessors", [2, 1, 580, 260, 14, 40]),
  space("one key", [2, 2, 21, 1, 2, 32]),
  space("one frame of keys for all", [2, 3, 9, 14, 2, 8], { fk: 1 }),
  space("large scores", [1, 1, 12, 300, 2, 16], { attrs: { scale: 4 } }),
  space("scale 0", [1, 1, 5, 6, 2, 4], { attrs: { scale: 0 } }),
  space("negative scale", [1, 1, 5, 6, 2, 4], { attrs: { scale: -0.5 } }),
  space("causal, square", [1, 2, 33, 33, 2, 8], { attrs: causal }),
  space("causal, more keys", [1, 1, 19, 45, 3, 8], { attrs: causal }),
  space("causal, more queries", [1, 1, 45, 19, 3, 8], { attrs: causal }),
  space("causal, long", [1, 1, 300, 300, 1, 4], { attrs: causal }),
];

/** q, k and v side by side in one tensor's pixels. */
const onGaps = (gap: number): Operand => ({ dims: [2, 2, 9, 24], gap, shiftBytes: 16 });
const views: Case[] = [
  {
    name: "q, k and v on gaps",
    inputs: { q: onGaps(48), k: onGaps(48), v: onGaps(13) },
    attrs: { heads: 3, scale: 0.4 },
    outGap: 9,
    also: ["lse"],
  },
  { ...space("without lse", [1, 2, 9, 7, 2, 8]), also: [] },
  { ...space("head of 512 without lse", [1, 1, 70, 100, 1, 512]), outGap: 8, also: [] },
  {
    name: "head of 512, q, k and v on gaps",
    inputs: {
      q: { dims: [1, 2, 66, 512], gap: 1024, shiftBytes: 16 },
      k: { dims: [1, 2, 66, 512], gap: 1024, shiftBytes: 16 },
      v: { dims: [1, 2, 66, 512], gap: 8 },
    },
    attrs: { heads: 1, scale: 0.04 },
    also: ["lse"],
  },
];

const forbidden: Operand = { dims: [2, 3, 11, 9], dtype: "u8", fill: { values: [0, 0, 1, 1, 0, 1, 0] } };
const masks: Case[] = [
  ...([1, 2] as const).flatMap((b) =>
    ([1, 3] as const).flatMap((heads) =>
      (["f32", "f16", "bf16", "u8"] as const).map((dtype) =>
        space(`mask ${dtype} ${b}x${heads}`, [2, 2, 11, 9, 3, 8], {
          inputs: {
            mask: { dims: [b, heads, 11, 9], dtype, gap: 3, ...(dtype === "u8" ? { fill: "flags" as const } : {}) },
          },
        }),
      ),
    ),
  ),
  ...([1, 2] as const).flatMap((b) =>
    ([1, 3] as const).map((heads) =>
      space(`mask of all queries ${b}x${heads}`, [2, 2, 11, 9, 3, 8], {
        inputs: { mask: { dims: [b, heads, 1, 9], dtype: "u8", gap: 7, fill: "flags" } },
      }),
    ),
  ),
  space("mask over many keys", [1, 1, 5, 600, 1, 8], {
    inputs: { mask: { dims: [1, 1, 5, 600], fill: { mean: 0, deviation: 9 } } },
  }),
  space("mask and causal", [2, 1, 11, 9, 3, 8], { inputs: { mask: [2, 3, 11, 9] }, attrs: causal }),
  space("rows without a key", [2, 1, 11, 9, 3, 8], { inputs: { mask: { ...forbidden, fill: { values: [0] } } } }),
  space("some rows without a key", [2, 1, 11, 9, 3, 8], {
    inputs: { mask: { ...forbidden, fill: { values: [...Array(27).fill(0), 1, 0, 1, ...Array(24).fill(0)] } } },
  }),
  space("first keys forbidden over many", [1, 1, 4, 600, 2, 8], {
    inputs: {
      mask: { dims: [1, 1, 4, 600], dtype: "u8", fill: { values: [...Array(500).fill(0), ...Array(100).fill(1)] } },
    },
  }),
];

/** Packed sequences with the given offsets. */
function packed(
  name: string,
  q: number[],
  k: number[],
  attrs: Case["attrs"] = {},
  [s, l] = [q.at(-1)!, k.at(-1)!],
): Case {
  const offsets = (values: number[]): Operand => ({ dims: [values.length], dtype: "i32", fill: { values } });
  const keys = [1, 1, l, 16];
  return {
    name,
    inputs: { q: [1, 1, s, 16], k: keys, v: keys, cuQ: offsets(q), cuK: offsets(k) },
    attrs: { heads: 2, scale: 0.35, ...attrs },
    also: ["lse"],
  };
}

/** Packed sequences in every frame of every clip. */
function packedFrames(name: string, [b, f, s, l]: [number, number, number, number], more: Partial<Case> = {}): Case {
  const offsets = (values: number[]): Operand => ({ dims: [values.length], dtype: "i32", fill: { values } });
  const keys = [b, f, l, 16];
  return {
    name,
    inputs: {
      q: [b, f, s, 16],
      k: keys,
      v: keys,
      cuQ: offsets([0, 5, s - 2]),
      cuK: offsets([1, 4, l]),
      ...more.inputs,
    },
    attrs: { heads: 2, scale: 0.35, ...more.attrs },
    also: ["lse"],
  };
}

const sequences: Case[] = [
  packedFrames("packed, in clips and frames", [2, 3, 14, 11]),
  packedFrames("packed, causal in clips", [2, 1, 14, 17], { attrs: causal }),
  packedFrames("packed with a mask", [2, 2, 14, 11], { inputs: { mask: [2, 2, 14, 11] } }),
  packedFrames("packed with a mask of all queries", [1, 1, 14, 11], {
    inputs: { mask: { dims: [1, 1, 1, 11], dtype: "u8", fill: "flags" } },
    attrs: causal,
  }),
  packedFrames("packed with a window", [1, 2, 40, 45], { attrs: { window: [4, 0, 0], causal: true } }),
  packed("packed", [0, 1, 18, 58, 65], [0, 1, 18, 58, 65]),
  packed("packed, causal", [0, 1, 18, 58, 65], [0, 1, 18, 58, 65], causal),
  packed("packed, other keys", [0, 1, 18, 58, 65], [0, 5, 22, 25, 55]),
  packed("packed, one without queries", [0, 7, 7, 12], [0, 5, 9, 20]),
  packed("packed, one without keys", [0, 7, 10, 12], [0, 5, 5, 20]),
  packed("packed, causal, fewer keys", [0, 9, 12], [0, 3, 14], causal),
  packed("packed, a single one", [0, 9], [0, 11]),
  packed("packed, tokens outside all", [2, 5, 9], [1, 4, 10], {}, [13, 15]),
];

const overTime: Case[] = [
  time("time", [2, 14, 14, 9, 2, 8]),
  { ...time("time, two frames", [2, 2, 2, 9, 4, 16]), also: [] },
  { ...time("time, few frames of heads of 24 channels, other keys", [1, 3, 7, 5, 3, 24]), also: [] },
  { ...time("time, eight frames", [1, 8, 8, 6, 2, 64]), also: [] },
  time("time, one frame", [1, 1, 1, 5, 2, 8]),
  time("time, other frames as keys", [1, 5, 9, 7, 3, 4]),
  time("time, causal", [2, 7, 7, 6, 2, 8], causal),
  time("time, many tokens", [1, 4, 4, 150, 1, 16]),
  {
    ...time("time on gaps", [1, 3, 3, 4, 2, 8]),
    inputs: Object.fromEntries(["q", "k", "v"].map((n) => [n, { dims: [1, 3, 4, 16], gap: 32 }])),
    outGap: 2,
  },
];

const mask = (b: number, heads: number, q: number, k: number): { mask: Operand } => ({
  mask: { dims: [b, heads, q, k], gap: 1 },
});
const withInputs = (base: Case, more: Case["inputs"]): Case => ({ ...base, inputs: { ...base.inputs, ...more } });
const masksOverTime: Case[] = [
  withInputs(time("time, mask", [2, 5, 9, 7, 3, 4]), mask(2, 3, 5, 9)),
  withInputs(time("time, mask of all", [2, 5, 9, 7, 3, 4], causal), mask(1, 1, 1, 9)),
  withInputs(time("time, flags", [1, 6, 6, 3, 2, 8]), {
    mask: { dims: [1, 2, 6, 6], dtype: "u8", fill: { values: [1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1] } },
  }),
  withInputs(time("time, packed", [2, 9, 8, 5, 2, 8]), { cuQ: frames([0, 4, 8]), cuK: frames([0, 3, 8]) }),
  withInputs(time("time, packed, mask and window", [1, 9, 9, 5, 2, 8], { ...causal, window: [2, 0, 0] }), {
    ...{ cuQ: frames([0, 4, 9]), cuK: frames([0, 4, 9]) },
    ...mask(1, 2, 9, 9),
  }),
];

const windows: Case[] = [
  space("window of 1", [1, 1, 9, 9, 2, 8], { attrs: { window: [1, 0, 0] } }),
  space("window of 5", [2, 1, 40, 40, 2, 8], { attrs: { window: [5, 0, 0] } }),
  space("window of 70 over many", [1, 1, 300, 300, 1, 16], { attrs: { window: [70, 0, 0] } }),
  space("window of 3 over many", [1, 1, 400, 400, 1, 64], { attrs: { window: [3, 0, 0] } }),
  space("window beyond the sequence", [1, 2, 19, 31, 2, 8], { attrs: { window: [2 ** 31 - 1, 0, 0] } }),
  space("window, causal", [1, 1, 130, 130, 2, 32], { attrs: { window: [17, 0, 0], ...causal } }),
  space("window, more queries than keys see", [1, 1, 60, 20, 1, 8], { attrs: { window: [4, 0, 0] } }),
  space("window, fewer queries", [1, 1, 20, 160, 1, 8], { attrs: { window: [9, 0, 0] } }),
  space("window of rows and columns", [1, 2, 84, 84, 2, 8], { attrs: { window: [0, 2, 3], grid: [12, 7] } }),
  space("box", [1, 1, 120, 120, 2, 16], { attrs: { window: [2, 2, 3], grid: [5, 6] } }),
  space("box over large frames", [1, 1, 432, 432, 1, 40], { attrs: { window: [2, 3, 4], grid: [12, 12] } }),
  space("box, causal, other numbers of frames", [1, 1, 60, 90, 1, 8], {
    attrs: { window: [2, 0, 2], grid: [3, 5], ...causal },
  }),
  space("window and mask", [2, 1, 40, 40, 2, 8], { inputs: mask(2, 1, 40, 40), attrs: { window: [6, 0, 0] } }),
  space("window and flags that hide it", [1, 1, 40, 40, 2, 8], {
    inputs: { mask: { dims: [1, 1, 40, 40], dtype: "u8", fill: { values: [1, 0, 0, 0, 0, 0, 0] } } },
    attrs: { window: [3, 0, 0] },
  }),
  time("time, window", [2, 14, 14, 9, 2, 64], { window: [3, 0, 0] }),
  time("time, window, causal", [1, 14, 14, 5, 2, 8], { window: [4, 0, 0], ...causal }),
  ...[3, 96, 160, 256, 512].map((head) =>
    space(`window, head of ${head}`, [1, 1, 70, 90, 1, head], { attrs: { window: [11, 0, 0] } }),
  ),
];

const transformed: Case[] = [
  space("rotary", [2, 1, 21, 33, 2, 8], { inputs: rotary(21, 33, 8) }),
  space("rotary, halves", [1, 2, 21, 33, 2, 8], { inputs: rotary(21, 33, 8), attrs: { pairs: "halves" } }),
  space("rotary of some channels", [1, 1, 21, 33, 3, 20], { inputs: rotary(21, 33, 6) }),
  space("rotary of some channels, halves", [1, 1, 9, 9, 2, 20], {
    inputs: rotary(9, 9, 6),
    attrs: { pairs: "halves", ...causal },
  }),
  withInputs(time("time, rotary", [2, 5, 5, 7, 2, 8]), rotary(5, 5, 8)),
  space("norm of q", [1, 2, 11, 9, 2, 8], { inputs: { normQ: weightOf(8) } }),
  space("norm of k", [1, 2, 11, 9, 2, 7], { inputs: { normK: weightOf(7) } }),
  space("norms", [2, 1, 30, 41, 2, 64], { inputs: norms(64), attrs: { normEps: 0.1 } }),
  space("norms and rotary", [1, 3, 30, 41, 2, 64], { inputs: { ...norms(64), ...rotary(30, 41, 64) }, fk: 1 }),
  withInputs(time("time, norms and rotary", [1, 6, 8, 5, 2, 16]), { ...norms(16), ...rotary(6, 8, 16) }),
  withInputs(packed("packed, rotary and window", [0, 9, 31], [2, 14, 40], { window: [5, 0, 0] }), rotary(31, 40, 8)),
  {
    name: "norms and rotary on gaps",
    inputs: { q: onGaps(48), k: onGaps(48), v: onGaps(13), ...norms(8), ...rotary(9, 9, 8) },
    attrs: { heads: 3, scale: 0.4 },
    outGap: 9,
    also: ["lse"],
  },
  space("norms and rotary, head of 160", [1, 1, 20, 70, 1, 160], { inputs: { ...norms(160), ...rotary(20, 70, 160) } }),
];

/** Scores whose maximum rises by more than a block may exceed the one before, by a little, and not at all. */
const risingScores = (["f16", "bf16"] as const).flatMap((dtype) => [
  ...[40, 64, 512].flatMap((head) =>
    [0.02, 0.4, 3].map((scale): Case => {
      const rows = head === 512 ? 20 : 70;
      const [q, keys]: Operand[] = [rows, 700].map((tokens) => ({ dims: [1, 1, tokens, head], dtype }));
      const name = `scores by ${scale}, head of ${head}, ${dtype}`;
      return { name, inputs: { q: q!, k: keys!, v: keys! }, attrs: { heads: 1, scale }, also: ["lse"] };
    }),
  ),
  // More tiles than a GPU has multiprocessors: blocks that have met such a row go on.
  ...[40, 64].map((head): Case => {
    const [q, keys]: Operand[] = [512, 150].map((tokens) => ({ dims: [1, 7, tokens, 10 * head], dtype }));
    const name = `scores that rise in many tiles, heads of ${head}, ${dtype}`;
    return { name, inputs: { q: q!, k: keys!, v: keys! }, attrs: { heads: 10, scale: 3 } };
  }),
]);

const types = (["f16", "bf16"] as const).map((dtype): Case => {
  const operand: Operand = { dims: [1, 2, 9, 16], dtype };
  return {
    name: `q, k and v ${dtype}`,
    inputs: { q: operand, k: operand, v: operand },
    attrs: { heads: 2, scale: 0.35 },
  };
});

/** 16-bit activations with everything else. */
const typedExtras = (["f16", "bf16"] as const).map((dtype): Case => {
  const operand = (tokens: number): Operand => ({ dims: [1, 2, tokens, 64], dtype, gap: 8 });
  return {
    name: `everything at once, ${dtype}`,
    inputs: {
      ...{ q: operand(50), k: operand(70), v: operand(70) },
      ...{ mask: { dims: [1, 2, 1, 70], dtype }, ...norms(32), ...rotary(50, 70, 32) },
      ...{ cuQ: frames([0, 20, 50]), cuK: frames([0, 30, 70]) },
    },
    attrs: { heads: 2, scale: 0.2, causal: true, window: [21, 0, 0] },
    outGap: 8,
    also: ["lse"],
  };
});

/** Scores of ten thousand, positive and negative. */
const extremes: Case[] = [
  space("scores of 1e4", [1, 1, 20, 70, 1, 4], {
    inputs: {
      q: { dims: [1, 1, 20, 4], fill: { values: [100, -100, 0, 3] } },
      k: { dims: [1, 1, 70, 4], fill: { values: [100, 1, 0] } },
    },
    attrs: { scale: 1 },
  }),
  space("zeros", [1, 1, 9, 70, 1, 8], {
    inputs: Object.fromEntries(
      [
        ["q", 9],
        ["k", 70],
        ["v", 70],
      ].map(([name, tokens]) => [name, { dims: [1, 1, tokens as number, 8], fill: { values: [0] } }]),
    ),
  }),
];

/** A number that is NaN in the third query of the first head: that row and its log-sum-exp are NaN, all others as ever. */
const notNumbers = (["f32", "f16"] as const).flatMap((dtype) =>
  [8, 64, 96, 128, 512].map((head): Case => {
    const heads = head === 512 ? 1 : 2;
    const channels = heads * head;
    const values = Array.from({ length: 70 * channels }, (_, i) =>
      i === 2 * channels + 1 ? Number.NaN : Math.sin(1.7 * i),
    );
    const keys: Operand = { dims: [1, 1, 150, channels], dtype };
    return {
      name: `a query that is no number, head of ${head}, ${dtype}`,
      inputs: { q: { dims: [1, 1, 70, channels], dtype, fill: { values } }, k: keys, v: keys },
      attrs: { heads, scale: 1 / Math.sqrt(head) },
      also: ["lse"],
    };
  }),
);

export default defineCases(attention, {
  correctness: [
    ...[...plain, ...views, ...masks, ...sequences, ...overTime, ...masksOverTime, ...windows, ...transformed],
    ...[...types, ...typedExtras, ...extremes, ...notNumbers, ...risingScores, ...tiles],
  ],
  bench: [
    space("tiny.unet.down0.attn0.spatial", [2, 14, 256, 256, 1, 64]),
    time("tiny.unet.down0.attn0.temporal", [2, 14, 14, 256, 1, 64]),
    space("tiny.vae.mid.attention", [1, 14, 256, 256, 1, 64]),
    space("tiny.clip.layer0", [1, 1, 50, 50, 2, 64]),
    space("svd-xt.unet.down0.attn0.spatial", [2, 25, 9216, 9216, 5, 64]),
    time("svd-xt.unet.down0.attn0.temporal", [2, 25, 25, 9216, 5, 64]),
    space("svd-xt.unet.mid.attn0.spatial", [2, 25, 144, 144, 20, 64]),
    space("svd-xt.vae.mid.attention", [1, 8, 9216, 9216, 1, 512]),
    space("svd-xt.clip.layer0", [1, 1, 257, 257, 16, 80]),
    space("video.causal.s4096", [1, 1, 4096, 4096, 16, 128], { attrs: causal }),
    space("video.causal.s4096.d64", [1, 1, 4096, 4096, 16, 64], { attrs: causal }),
    space("video.mask.s4096", [1, 1, 4096, 4096, 16, 128], {
      inputs: { mask: { dims: [1, 1, 4096, 4096], fill: { mean: 0, deviation: 2 } } },
    }),
    space("video.flags.s4096", [1, 1, 4096, 4096, 16, 64], {
      inputs: { mask: { dims: [1, 1, 4096, 4096], dtype: "u8", fill: "flags" } },
    }),
    space("video.cross.s4096x512", [2, 1, 4096, 512, 16, 128]),
    space("video.window.s16384", [1, 1, 16384, 16384, 8, 64], { attrs: { window: [512, 0, 0] } }),
    space("video.box.16x32x32", [1, 1, 16384, 16384, 8, 64], { attrs: { window: [3, 6, 6], grid: [32, 32] } }),
    space("video.text.mask", [2, 1, 4096, 512, 16, 128], {
      inputs: { mask: { dims: [2, 1, 1, 512], dtype: "u8", fill: "flags" } },
    }),
    space("video.norms.rotary", [1, 1, 7800, 7800, 12, 128], {
      inputs: { ...norms(128), rotaryQ: [7800, 128], rotaryK: [7800, 128] },
    }),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    space("one-core.1152 tokens", [1, 1, 1152, 1152, 5, 64]),
  ].map((each) => ({ ...each, also: [] })),
});
