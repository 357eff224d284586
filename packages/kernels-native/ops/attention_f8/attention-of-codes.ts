// Cases of attention over float8 codes, which attention_f8 and attention_f8_codes share.
import type { CaseOf, Operand } from "../../contract/define-case";
import type attentionF8 from "./attention_f8.op";

export type Case = CaseOf<typeof attentionF8>;
/** B, F, S, L, heads, head dimension; over time F and L are the numbers of queries and of keys. */
type Sizes = readonly [number, number, number, number, number, number];

/** Codes with a deviation of 4. */
const codes = (dims: readonly number[], gap = 0, deviation = 4): Operand => ({
  ...{ dims, dtype: "f8e4m3", gap },
  fill: { mean: 0, deviation },
});
export const one = (value: number): Operand => ({ dims: [1, 1, 1, 1], fill: { values: [value] } });
/** Scores of unit deviation by the usual scale, and different ones for q, k and v. */
const scales = { qScale: one(0.2), kScale: one(0.3125), vScale: one(0.25) };

export const space = (name: string, [b, f, s, l, heads, dim]: Sizes, keyFrames = f): Case => ({
  name,
  inputs: {
    ...{ q: codes([b, f, s, heads * dim]), k: codes([b, keyFrames, l, heads * dim]) },
    ...{ v: codes([b, keyFrames, l, heads * dim]), ...scales },
  },
  attrs: { heads, scale: 1 / Math.sqrt(dim) },
});

export const time = (name: string, [b, f, s, l, heads, dim]: Sizes): Case => ({
  name: `over frames, ${name}`,
  inputs: {
    ...{ q: codes([b, f, s, heads * dim]), k: codes([b, l, s, heads * dim]), v: codes([b, l, s, heads * dim]) },
    ...scales,
  },
  attrs: { axis: "time", heads, scale: 1 / Math.sqrt(dim) },
});

/** q, k and v side by side, as one layer leaves them. */
export const together = (call: Case, gap: number): Case => {
  const [q, k, v] = (["q", "k", "v"] as const).map((name) => (call.inputs[name] as { dims: number[] }).dims);
  return {
    ...call,
    name: `${call.name}, on gaps`,
    inputs: { ...call.inputs, q: codes(q!, gap), k: codes(k!, gap), v: codes(v!, gap) },
    outGap: 16,
  };
};

/** Those of a call of the UNet. */
export const OF_UNET: readonly Case[] = [
  together(space("svd-xt.unet.down0.attn0.spatial", [2, 25, 9216, 9216, 5, 64]), 640),
  together(space("svd-xt.unet.down1.attn0.spatial", [2, 25, 2304, 2304, 10, 64]), 1280),
  together(space("svd-xt.unet.down2.attn0.spatial", [2, 25, 576, 576, 20, 64]), 2560),
  together(time("svd-xt.unet.down0.attn0.temporal", [2, 25, 9216, 25, 5, 64]), 640),
  together(time("svd-xt.unet.down1.attn0.temporal", [2, 25, 2304, 25, 10, 64]), 1280),
];
