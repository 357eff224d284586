import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import attention from "./attention.op";

type Case = CaseOf<typeof attention>;

/** Self- or cross-attention within frames: sizes, then what differs from the plain case. */
function space(
  name: string,
  [b, f, s, l, heads, head]: [number, number, number, number, number, number],
  more: { inputs?: Case["inputs"]; attrs?: Case["attrs"]; fk?: number } = {},
): Case {
  const keys = [b, more.fk ?? f, l, heads * head];
  const inputs = { q: [b, f, s, heads * head], k: keys, v: keys, ...more.inputs };
  return { name, inputs, attrs: { heads, scale: 1 / Math.sqrt(head), ...more.attrs }, also: ["lse"] };
}

/** Attention over frames. */
function time(
  name: string,
  [b, f, fk, s, heads, head]: [number, number, number, number, number, number],
  attrs: Case["attrs"] = {},
): Case {
  const keys = [b, fk, s, heads * head];
  const inputs = { q: [b, f, s, heads * head], k: keys, v: keys };
  return { name, inputs, attrs: { axis: "time", heads, scale: 1 / Math.sqrt(head), ...attrs }, also: ["lse"] };
}

const causal = { causal: true };
const plain: Case[] = [
  space("one query, one key", [1, 1, 1, 1, 1, 1]),
  space("head of 40", [1, 1, 33, 33, 2, 40]),
  space("head of 64", [2, 3, 17, 17, 2, 64]),
  space("head of 80", [1, 1, 35, 34, 2, 80]),
  space("head of 160", [1, 2, 10, 33, 1, 160]),
  space("head of 512", [1, 1, 10, 11, 1, 512]),
  space("head of 512, several tiles", [1, 1, 85, 133, 1, 512]),
  space("head of 3", [1, 2, 9, 13, 5, 3]),
  space("many keys", [1, 1, 7, 613, 1, 16]),
  space("many queries", [1, 1, 301, 5, 2, 8]),
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
];

const forbidden: Operand = { dims: [2, 3, 11, 9], dtype: "u8", fill: { values: [0, 0, 1, 1, 0, 1, 0] } };
const masks: Case[] = [
  ...([1, 2] as const).flatMap((b) =>
    ([1, 3] as const).flatMap((heads) =>
      (["f32", "f16", "u8"] as const).map((dtype) =>
        space(`mask ${dtype} ${b}x${heads}`, [2, 2, 11, 9, 3, 8], {
          inputs: {
            mask: { dims: [b, heads, 11, 9], dtype, gap: 3, ...(dtype === "u8" ? { fill: "flags" as const } : {}) },
          },
        }),
      ),
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

const sequences: Case[] = [
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

/** Scores whose maximum rises by more than a block may exceed the one before, by a little, and not at all. */
const risingScores = (["f16", "bf16"] as const).flatMap((dtype) =>
  [64, 512].flatMap((head) =>
    [0.02, 0.4, 3].map((scale): Case => {
      const [q, keys]: Operand[] = [70, 700].map((tokens) => ({ dims: [1, 1, tokens, head], dtype }));
      const name = `scores by ${scale}, head of ${head}, ${dtype}`;
      return { name, inputs: { q: q!, k: keys!, v: keys! }, attrs: { heads: 1, scale } };
    }),
  ),
);

const types = (["f16", "bf16"] as const).map((dtype): Case => {
  const operand: Operand = { dims: [1, 2, 9, 16], dtype };
  return {
    name: `q, k and v ${dtype}`,
    inputs: { q: operand, k: operand, v: operand },
    attrs: { heads: 2, scale: 0.35 },
  };
});

export default defineCases(attention, {
  correctness: [...plain, ...views, ...masks, ...sequences, ...overTime, ...types, ...risingScores],
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
  ].map((each) => ({ ...each, also: [] })),
});
