import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import attentionF8 from "./attention_f8.op";

type Case = CaseOf<typeof attentionF8>;
/** B, F, S, L, heads, head dimension; over time F and L are the numbers of queries and of keys. */
type Sizes = readonly [number, number, number, number, number, number];

/** Codes with a deviation of 4. */
const codes = (dims: readonly number[], gap = 0, deviation = 4): Operand => ({
  ...{ dims, dtype: "f8e4m3", gap },
  fill: { mean: 0, deviation },
});
const one = (value: number): Operand => ({ dims: [1, 1, 1, 1], fill: { values: [value] } });
/** Scores of unit deviation by the usual scale, and different ones for q, k and v. */
const scales = { qScale: one(0.2), kScale: one(0.3125), vScale: one(0.25) };

const space = (name: string, [b, f, s, l, heads, dim]: Sizes, keyFrames = f): Case => ({
  name,
  inputs: {
    ...{ q: codes([b, f, s, heads * dim]), k: codes([b, keyFrames, l, heads * dim]) },
    ...{ v: codes([b, keyFrames, l, heads * dim]), ...scales },
  },
  attrs: { heads, scale: 1 / Math.sqrt(dim) },
});

const time = (name: string, [b, f, s, l, heads, dim]: Sizes): Case => ({
  name: `over frames, ${name}`,
  inputs: {
    ...{ q: codes([b, f, s, heads * dim]), k: codes([b, l, s, heads * dim]), v: codes([b, l, s, heads * dim]) },
    ...scales,
  },
  attrs: { axis: "time", heads, scale: 1 / Math.sqrt(dim) },
});

/** q, k and v side by side, as one layer leaves them. */
const together = (call: Case, gap: number): Case => {
  const [q, k, v] = (["q", "k", "v"] as const).map((name) => (call.inputs[name] as { dims: number[] }).dims);
  return {
    ...call,
    name: `${call.name}, on gaps`,
    inputs: { ...call.inputs, q: codes(q!, gap), k: codes(k!, gap), v: codes(v!, gap) },
    outGap: 8,
  };
};

export default defineCases(attentionF8, {
  correctness: [
    space("one key", [1, 1, 3, 1, 1, 64]),
    space("small heads", [2, 2, 9, 11, 3, 5]),
    space("heads of 64", [1, 2, 70, 70, 2, 64]),
    space("128 keys", [1, 1, 128, 128, 1, 64]),
    space("several blocks of keys", [1, 1, 150, 400, 2, 64]),
    space("one frame of keys", [2, 3, 33, 140, 1, 64], 1),
    space("heads of 40", [1, 1, 20, 37, 2, 40]),
    space("more tiles than blocks at once", [1, 2, 2100, 33, 8, 64]),
    together(space("heads of 64 in two frames", [1, 2, 140, 140, 2, 64]), 256),
    time("one of each", [1, 1, 1, 1, 1, 1]),
    time("small heads", [2, 3, 5, 4, 3, 5]),
    time("heads of 64", [2, 14, 33, 14, 2, 64]),
    time("16 frames", [1, 16, 9, 16, 1, 64]),
    time("25 frames", [1, 25, 21, 25, 5, 64]),
    time("32 frames, one of queries", [1, 1, 9, 32, 2, 64]),
    time("more than 32 frames", [1, 35, 6, 35, 1, 64]),
    time("heads of 48", [1, 9, 7, 9, 2, 48]),
    together(time("25 frames", [1, 25, 10, 25, 2, 64]), 256),
    ...[space("scores next to zero", [1, 1, 40, 140, 1, 64]), time("scores next to zero", [1, 20, 8, 20, 1, 64])].map(
      (call) => ({ ...call, inputs: { ...call.inputs, qScale: one(1e-5) } }),
    ),
    ...[space("scores far apart", [1, 1, 200, 1400, 1, 64]), time("scores far apart", [1, 25, 8, 25, 1, 64])].map(
      (call) => ({ ...call, inputs: { ...call.inputs, qScale: one(1.25) } }),
    ),
    ...[space("negative scale", [1, 1, 20, 30, 1, 64]), time("negative scale", [1, 20, 8, 20, 1, 64])].map((call) => ({
      ...call,
      attrs: { ...call.attrs, scale: -0.125 },
    })),
  ],
  bench: [
    together(space("svd-xt.unet.down0.attn0.spatial", [2, 25, 9216, 9216, 5, 64]), 640),
    together(space("svd-xt.unet.down1.attn0.spatial", [2, 25, 2304, 2304, 10, 64]), 1280),
    together(space("svd-xt.unet.down2.attn0.spatial", [2, 25, 576, 576, 20, 64]), 2560),
    together(time("svd-xt.unet.down0.attn0.temporal", [2, 25, 9216, 25, 5, 64]), 640),
    together(time("svd-xt.unet.down1.attn0.temporal", [2, 25, 2304, 25, 10, 64]), 1280),
  ],
});
