import { type CaseOf, defineCases } from "../../contract/define-case";
import attentionQ8 from "./attention_q8.op";

type Case = CaseOf<typeof attentionQ8>;
/** B, F, S, L, heads, head dimension. */
type Sizes = readonly [number, number, number, number, number, number];

const KINDS = [
  { scores: "f8e4m3", values: "f8e4m3" },
  { scores: "i8", values: "f8e4m3" },
  { scores: "f8e4m3", values: "full" },
  { scores: "i8", values: "full" },
] as const;

const attention = (
  name: string,
  [b, f, s, l, heads, dim]: Sizes,
  attrs: (typeof KINDS)[number],
  keyFrames = f,
): Case => ({
  name: `${name}, ${attrs.scores} and ${attrs.values}`,
  inputs: { q: [b, f, s, heads * dim], k: [b, keyFrames, l, heads * dim], v: [b, keyFrames, l, heads * dim] },
  attrs: { heads, scale: 1 / Math.sqrt(dim), ...attrs },
});

const each = (name: string, sizes: Sizes, keyFrames?: number) =>
  KINDS.map((kind) => attention(name, sizes, kind, keyFrames));

export default defineCases(attentionQ8, {
  correctness: [
    ...each("one key", [1, 1, 3, 1, 1, 64]),
    ...each("small heads", [2, 2, 9, 11, 3, 5]),
    ...each("heads of 64", [1, 2, 70, 70, 2, 64]),
    ...each("128 keys", [1, 1, 128, 128, 1, 64]),
    ...each("several blocks of keys", [1, 1, 150, 400, 2, 64]),
    ...each("one frame of keys", [2, 3, 33, 140, 1, 64], 1),
    ...each("heads of 40", [1, 1, 20, 37, 2, 40]),
    {
      name: "on gaps",
      inputs: {
        q: { dims: [1, 2, 140, 128], gap: 256 },
        k: { dims: [1, 2, 140, 128], gap: 256 },
        v: { dims: [1, 2, 140, 128], gap: 256 },
      },
      attrs: { heads: 2, scale: 0.125 },
      outGap: 8,
    },
    ...KINDS.map((kind) => ({
      name: `scores next to zero, ${kind.scores} and ${kind.values}`,
      inputs: {
        q: { dims: [1, 1, 40, 64], fill: { mean: 0, deviation: 1e-3 } },
        k: [1, 1, 140, 64],
        v: [1, 1, 140, 64],
      },
      attrs: { heads: 1, scale: 0.125, ...kind },
    })),
    ...KINDS.slice(0, 2).map((kind) => ({
      name: `scores far apart, ${kind.scores} and ${kind.values}`,
      inputs: {
        q: { dims: [1, 1, 200, 64], fill: { mean: 0, deviation: 2.5 } },
        k: { dims: [1, 1, 1400, 64], fill: { mean: 0, deviation: 2.5 } },
        v: [1, 1, 1400, 64],
      },
      attrs: { heads: 1, scale: 0.125, ...kind },
    })),
    {
      name: "scores that rise and fall",
      inputs: {
        q: { dims: [1, 1, 130, 64], fill: { mean: 0.2, deviation: 2 } },
        k: { dims: [1, 1, 700, 64], fill: { mean: 0.1, deviation: 2 } },
        v: [1, 1, 700, 64],
      },
      attrs: { heads: 1, scale: 0.125 },
    },
  ],
  bench: [
    ...each("svd-xt.unet.down0.attn0.spatial", [2, 25, 9216, 9216, 5, 64]).slice(0, 2),
    ...each("svd-xt.unet.down1.attn0.spatial", [2, 25, 2304, 2304, 10, 64]).slice(0, 1),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    ...each("one-core.1152 tokens", [1, 1, 1152, 1152, 5, 64]).slice(0, 2),
  ],
});
