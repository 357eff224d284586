import type { Operand } from "../../contract/define-case";
import type { DType } from "../../contract/dtype";
import { type Case, causal, frames, norms, rotary, space } from "./attention-kinds";

/** 16-bit rows over several tiles of 128 queries and 128 keys: what the Hopper kernels for part of the keys take. */
function tiled(
  name: string,
  [b, f, s, l, heads, head]: [number, number, number, number, number, number],
  more: { inputs?: Case["inputs"]; attrs?: Case["attrs"]; fk?: number } = {},
  dtype: DType = "f16",
): Case {
  const rows = (frames: number, tokens: number): Operand => ({
    dims: [b, frames, tokens, heads * head],
    dtype,
    gap: 8,
  });
  const keys = rows(more.fk ?? f, l);
  const inputs = { q: rows(f, s), k: keys, v: keys, ...more.inputs };
  return { ...space(`tiles, ${name}`, [b, f, s, l, heads, head], { ...more, inputs }), outGap: 8 };
}

const flags = (dims: readonly number[], values: readonly number[]): { mask: Operand } => ({
  mask: { dims, dtype: "u8", gap: 1, fill: { values } },
});
const additive = (dims: readonly number[], dtype: DType): { mask: Operand } => ({
  mask: { dims, dtype, gap: 3, fill: { mean: 0, deviation: 2 } },
});
/** Masks of a row for every query whose rows are 16-byte aligned: the copy engine brings them. */
const aligned = (b: number, heads: number, q: number, k: number, dtype: DType): { mask: Operand } => ({
  mask: {
    dims: [b, heads, q, k],
    dtype,
    gap: 15 - ((k - 1) % 16),
    fill: dtype === "u8" ? { values: [1, 0, 0, 1, 1, 0, 1] } : { mean: 0, deviation: 2 },
  },
});
const offsets = (cuQ: number[], cuK: number[]) => ({ cuQ: frames(cuQ), cuK: frames(cuK) });
/** Small heads where keys matter: they are filled up to 64 channels, and cost the CPU less. */
export const tiles: Case[] = [
  tiled("all keys", [1, 2, 129, 140, 1, 128], { fk: 1 }),
  tiled("all keys, head of 80", [1, 1, 130, 257, 1, 80]),
  tiled("all keys, head of 72", [1, 1, 40, 130, 2, 72], {}, "bf16"),
  tiled("all keys, heads of 160", [1, 2, 130, 257, 2, 160], { fk: 1 }),
  tiled("all keys, heads of 136", [1, 1, 70, 130, 2, 136], {}, "bf16"),
  tiled("one key", [1, 1, 130, 1, 1, 64]),
  // Few queries and many keys, which warpgroups divide: the last ones of a tile or of a part are few.
  ...([40, 64, 80, 96, 128, 160] as const).map((head) =>
    tiled(`keys in parts, head of ${head}`, [1, 2, 70, head === 64 ? 1153 : 600, 1, head], { fk: 1 }),
  ),
  tiled("keys in parts, heads of 48", [2, 1, 130, 385, 2, 48], {}, "bf16"),
  ...([40, 64, 96, 104, 128] as const).map((head) =>
    tiled(`causal, head of ${head}`, [1, 1, 150, 150, 1, head], { attrs: causal }),
  ),
  tiled("causal over many", [1, 1, 520, 520, 1, 8], { attrs: causal }),
  tiled("causal, more keys", [2, 1, 140, 390, 1, 16], { attrs: causal }),
  tiled("causal, more queries", [1, 2, 390, 140, 1, 16], { attrs: causal }, "bf16"),
  tiled("window", [1, 1, 400, 400, 1, 16], { attrs: { window: [70, 0, 0] } }),
  tiled("window, more queries than keys see", [1, 1, 400, 30, 1, 128], { attrs: { window: [9, 0, 0] } }),
  tiled("window, causal", [1, 1, 300, 500, 1, 24], { attrs: { window: [150, 0, 0], ...causal } }),
  tiled("box", [1, 1, 392, 392, 1, 16], { attrs: { window: [2, 3, 2], grid: [7, 8] } }),
  tiled("box, narrow frames, causal", [1, 1, 270, 330, 1, 8], {
    attrs: { window: [0, 2, 2], grid: [5, 3], ...causal },
  }),
  tiled("box of columns", [1, 1, 153, 153, 1, 88], { attrs: { window: [0, 0, 2], grid: [1, 9] } }, "bf16"),
  tiled("frames", [1, 1, 280, 280, 1, 16], { attrs: { window: [3, 0, 0], grid: [4, 7] } }),
  ...(["f32", "f16", "bf16"] as const).map((dtype) =>
    tiled(`mask ${dtype}`, [2, 1, 135, 263, 2, 16], { inputs: additive([1, 2, 135, 263], dtype) }),
  ),
  ...(["u8", "f16", "bf16"] as const).map((dtype) =>
    tiled(`aligned mask ${dtype}`, [2, 1, 199, 389, 2, 16], { inputs: aligned(2, 1, 199, 389, dtype) }),
  ),
  tiled(
    "aligned mask of each head, head of 128",
    [1, 2, 130, 141, 2, 128],
    { inputs: aligned(1, 2, 130, 141, "f16") },
    "bf16",
  ),
  tiled("aligned flags of each head, head of 96, causal", [2, 1, 140, 300, 2, 96], {
    inputs: aligned(2, 2, 140, 300, "u8"),
    attrs: causal,
  }),
  tiled("aligned mask, packed and window", [1, 1, 300, 300, 1, 16], {
    inputs: { ...offsets([0, 160, 300], [0, 129, 300]), ...aligned(1, 1, 300, 300, "f16") },
    attrs: { window: [60, 0, 0] },
  }),
  tiled("aligned flags over boxes", [1, 1, 392, 392, 1, 16], {
    inputs: aligned(1, 1, 392, 392, "u8"),
    attrs: { window: [2, 3, 2], grid: [7, 8] },
  }),
  tiled("mask of all queries", [2, 1, 135, 140, 1, 128], { inputs: additive([2, 1, 1, 140], "f32") }, "bf16"),
  tiled("flags, head of 80", [1, 2, 135, 140, 1, 80], { inputs: flags([1, 1, 1, 140], [1, 0, 0, 1, 0]) }),
  tiled("flags, causal", [1, 1, 300, 300, 1, 8], {
    inputs: flags([1, 1, 300, 300], [1, 0, 1, 1, 0, 0, 0]),
    attrs: causal,
  }),
  tiled("flags that hide all", [1, 1, 140, 260, 1, 8], { inputs: flags([1, 1, 140, 260], [0]) }),
  tiled("flags that hide some rows", [1, 1, 140, 130, 1, 128], {
    inputs: flags([1, 1, 140, 130], [...Array(131 * 9).fill(0), ...Array(131 * 3).fill(1)]),
  }),
  tiled("flags that hide the first keys", [1, 1, 130, 400, 1, 16], {
    inputs: flags([1, 1, 1, 400], [...Array(300).fill(0), ...Array(101).fill(1)]),
  }),
  tiled("packed", [1, 2, 420, 440, 1, 8], { inputs: offsets([0, 0, 1, 131, 400], [0, 3, 4, 204, 440]) }),
  tiled("packed, one without keys", [1, 1, 300, 300, 2, 16], { inputs: offsets([0, 150, 290], [20, 20, 290]) }),
  tiled(
    "packed, causal",
    [1, 1, 420, 420, 1, 16],
    { inputs: offsets([5, 6, 200, 420], [0, 1, 300, 420]), attrs: causal },
    "bf16",
  ),
  tiled("packed, mask and window", [1, 1, 300, 300, 1, 16], {
    inputs: { ...offsets([0, 160, 300], [0, 129, 300]), ...additive([1, 1, 300, 300], "f16") },
    attrs: { window: [60, 0, 0], ...causal },
  }),
  tiled("head of 512, causal", [1, 1, 70, 80, 1, 512], { attrs: causal }),
  tiled("head of 264, window", [1, 1, 140, 150, 1, 264], { attrs: { window: [40, 0, 0] } }),
  tiled("head of 512, mask and one frame of keys", [1, 2, 33, 90, 1, 512], {
    inputs: additive([1, 1, 1, 90], "f32"),
    fk: 1,
  }),
  tiled("head of 264, packed, flags that hide all of one", [1, 1, 140, 140, 1, 264], {
    inputs: {
      ...offsets([0, 1, 1, 90, 130], [0, 20, 50, 70, 140]),
      ...flags([1, 1, 1, 140], [...Array(71).fill(1), ...Array(70).fill(0)]),
    },
  }),
  tiled("norms, rotary and causal", [1, 1, 130, 140, 1, 64], {
    inputs: { ...norms(64), ...rotary(130, 140, 64) },
    attrs: causal,
  }),
];
