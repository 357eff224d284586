import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import attentionBackward from "./attention_backward.op";

type Case = CaseOf<typeof attentionBackward>;
type Sizes = readonly [b: number, f: number, s: number, l: number, heads: number, head: number];
type More = { inputs?: Case["inputs"]; attrs?: Case["attrs"]; fk?: number; also?: Case["also"] };

const ALL = ["dq", "dk", "dv"] as const;

/** Sums of exponentials as scores of deviation 1 have them; gradients are functions of any. */
const logSums = (dims: readonly number[]): Operand => ({ dims, fill: { mean: 3, deviation: 0.5 } });

function operands(q: readonly number[], k: readonly number[], heads: number): Case["inputs"] {
  const [b, f, s] = q as [number, number, number];
  return { q, k, v: k, y: q, dy: q, lse: logSums([b, f, heads, s]) };
}

/** Within frames. */
function space(name: string, [b, f, s, l, heads, head]: Sizes, more: More = {}): Case {
  const inputs = operands([b, f, s, heads * head], [b, more.fk ?? f, l, heads * head], heads);
  const attrs = { heads, scale: 1 / Math.sqrt(head), ...more.attrs };
  return { name, inputs: { ...inputs, ...more.inputs }, attrs, also: more.also ?? ALL };
}

/** Over frames: `l` of them are keys. */
function time(name: string, [b, f, s, l, heads, head]: Sizes, more: More = {}): Case {
  const inputs = operands([b, f, s, heads * head], [b, l, s, heads * head], heads);
  const attrs = { axis: "time", heads, scale: 1 / Math.sqrt(head), ...more.attrs };
  return { name, inputs: { ...inputs, ...more.inputs }, attrs, also: more.also ?? ALL };
}

const causal = { causal: true };
const offsets = (...values: number[]): Operand => ({ dims: [values.length], dtype: "i32", fill: { values } });
const heads = [3, 32, 40, 64, 80, 96, 128, 160, 256, 512].map((head) =>
  space(`head of ${head}`, [1, 1, 37, 70, head > 128 ? 1 : 2, head]),
);

const shapes: Case[] = [
  space("one query, one key", [1, 1, 1, 1, 1, 1]),
  space("clips and frames", [2, 3, 17, 17, 2, 8]),
  space("many keys", [1, 1, 7, 301, 1, 16]),
  space("many queries", [1, 1, 301, 5, 2, 8]),
  space("one frame of keys for all", [2, 3, 9, 14, 2, 8], { fk: 1 }),
  space("one frame of keys for all, head of 64", [1, 2, 70, 77, 1, 64], { fk: 1 }),
  space("causal", [1, 2, 70, 70, 2, 8], { attrs: causal }),
  space("causal, more keys", [1, 1, 19, 45, 3, 8], { attrs: causal }),
  space("causal, more queries", [1, 1, 145, 79, 1, 32], { attrs: causal }),
  space("scale 0", [1, 1, 5, 6, 2, 4], { attrs: { scale: 0 } }),
  time("time", [2, 14, 9, 14, 2, 8]),
  time("time, other frames as keys, causal", [1, 5, 7, 9, 3, 4], { attrs: causal }),
];

const masks: Case[] = [
  ...(["f32", "f16", "bf16", "u8"] as const).map((dtype) =>
    space(`mask ${dtype}`, [2, 2, 11, 9, 3, 8], {
      inputs: { mask: { dims: [1, 3, 11, 9], dtype, gap: 3, ...(dtype === "u8" ? { fill: "flags" as const } : {}) } },
    }),
  ),
  space("mask of all queries", [2, 1, 70, 90, 2, 16], {
    inputs: { mask: { dims: [2, 1, 1, 90], dtype: "u8", fill: "flags" } },
  }),
  time("time, mask", [2, 5, 3, 9, 2, 8], { inputs: { mask: [2, 1, 5, 9] } }),
  space("rows without a key", [1, 1, 40, 40, 1, 8], {
    inputs: {
      mask: { dims: [1, 1, 40, 40], dtype: "u8", fill: { values: [...Array(80).fill(0), ...Array(1520).fill(1)] } },
      lse: {
        dims: [1, 1, 1, 40],
        fill: { values: [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, ...Array(38).fill(3)] },
      },
    },
  }),
  space("window", [1, 1, 150, 150, 2, 8], { attrs: { window: [9, 0, 0], ...causal } }),
  space("box", [1, 1, 216, 216, 1, 16], { attrs: { window: [2, 2, 3], grid: [6, 6] } }),
  time("time, window", [1, 14, 5, 14, 2, 8], { attrs: { window: [3, 0, 0] } }),
];

const packed: Case[] = [
  space("packed", [1, 1, 65, 58, 2, 16], { inputs: { cuQ: offsets(0, 1, 18, 65), cuK: offsets(0, 5, 30, 58) } }),
  space("packed in clips and frames, causal", [2, 2, 14, 11, 2, 8], {
    inputs: { cuQ: offsets(0, 5, 12), cuK: offsets(1, 4, 11) },
    attrs: causal,
  }),
  space("packed, one without queries, one without keys", [1, 1, 12, 20, 2, 8], {
    inputs: { cuQ: offsets(0, 7, 7, 12), cuK: offsets(0, 9, 20, 20) },
  }),
  space("packed with mask and window", [1, 1, 80, 90, 1, 32], {
    inputs: { cuQ: offsets(0, 30, 80), cuK: offsets(0, 40, 90), mask: [1, 1, 80, 90] },
    attrs: { window: [20, 0, 0] },
  }),
  time("time, packed", [1, 9, 5, 8, 2, 8], { inputs: { cuQ: offsets(0, 4, 8), cuK: offsets(0, 3, 8) } }),
];

const onGaps = (gap: number): Operand => ({ dims: [2, 2, 9, 24], gap, shiftBytes: 16 });
const views: Case[] = [
  {
    name: "operands on gaps",
    inputs: {
      ...{ q: onGaps(48), k: onGaps(48), v: onGaps(13), y: onGaps(1), dy: onGaps(8) },
      lse: { ...logSums([2, 2, 3, 9]), gap: 5 },
    },
    attrs: { heads: 3, scale: 0.4 },
    also: ALL,
  },
  ...ALL.map((only) => space(`only ${only}`, [1, 2, 33, 40, 1, 16], { also: [only] })),
  space("no gradient", [1, 1, 9, 8, 1, 16], { also: [] }),
];

const types = (["f16", "bf16"] as const).map((dtype): Case => {
  const rows = (tokens: number): Operand => ({ dims: [1, 2, tokens, 64], dtype, gap: 8 });
  return {
    name: `everything at once, ${dtype}`,
    inputs: {
      ...{ q: rows(50), k: rows(70), v: rows(70), y: rows(50), dy: rows(50), lse: logSums([1, 2, 2, 50]) },
      ...{ mask: { dims: [1, 2, 1, 70], dtype }, cuQ: offsets(0, 20, 50), cuK: offsets(0, 30, 70) },
    },
    attrs: { heads: 2, scale: 0.2, causal: true, window: [21, 0, 0] },
    also: ALL,
  };
});

export default defineCases(attentionBackward, {
  correctness: [...heads, ...shapes, ...masks, ...packed, ...views, ...types],
  bench: [
    space("video.spatial.s2048", [1, 1, 2048, 2048, 8, 64]),
    space("video.causal.s2048", [1, 1, 2048, 2048, 8, 128], { attrs: causal }),
    time("video.temporal.s2304", [2, 25, 2304, 25, 5, 64]),
    space("vae.middle.s1024", [1, 1, 1024, 1024, 1, 512]),
    space("video.causal.two-heads.s2048", [1, 1, 2048, 2048, 2, 64], { attrs: causal }),
  ],
});
