import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import groupNormQ8 from "./group_norm_q8.op";

type Case = CaseOf<typeof groupNormQ8>;

/** Normalised numbers in both types; the scale leaves room for 8 deviations and more. */
const both = (
  name: string,
  x: Operand["dims"],
  attrs: Case["attrs"] = {},
  { extra = 0, ...more }: Partial<Case> & { extra?: number } = {},
): Case[] =>
  (["f8e4m3", "i8"] as const).map((outType) => ({
    name: `${name}, ${outType}`,
    outType,
    ...more,
    inputs: {
      x,
      weight: [x[4]! + extra],
      bias: [x[4]! + extra],
      yScale: { dims: [1, 1, 1, 1], fill: { values: [outType === "i8" ? 0.05 : 0.02] } },
      ...more.inputs,
    },
    attrs: { groups: 8, eps: 1e-5, ...attrs },
  }));

const stats: Operand = { dims: [2, 3, 8, 2], fill: { mean: 2, deviation: 0.1 } };
const silu = { groups: 32, eps: 1e-6, act: "silu" };

/** The norm before a convolution of SVD, timed in one type. */
const bench = (name: string, x: number[], attrs: Case["attrs"] = {}): Case => ({
  name,
  inputs: { x, weight: [x[4]!], bias: [x[4]!], yScale: { dims: [1, 1, 1, 1], fill: { values: [0.02] } } },
  attrs: { ...silu, ...attrs },
});

export default defineCases(groupNormQ8, {
  correctness: [
    ...both("one pixel, one channel a group", [2, 1, 1, 1, 8]),
    ...both("odd sizes", [2, 3, 5, 7, 24]),
    ...both("groups of 3", [1, 2, 5, 7, 96], { groups: 32 }),
    ...both("many pixels", [1, 2, 40, 37, 16], { groups: 4, act: "silu" }),
    ...both("joined frames", [2, 5, 3, 4, 64], { groups: 32, joinFrames: true, act: "silu" }),
    ...both("channels that 8 does not divide", [1, 2, 5, 7, 21], { groups: 7, act: "gelu" }),
    ...both(
      "on gaps",
      [2, 2, 4, 3, 24],
      { act: "silu" },
      { inputs: { x: { dims: [2, 2, 4, 3, 24], gap: 8 } } as Case["inputs"], outGap: 8 },
    ),
    ...both(
      "on odd gaps",
      [2, 2, 4, 3, 24],
      {},
      { inputs: { x: { dims: [2, 2, 4, 3, 24], gap: 9 } } as Case["inputs"], outGap: 5 },
    ),
    ...both(
      "two inputs, a group across both",
      [1, 2, 4, 3, 13],
      { groups: 3 },
      { inputs: { x2: [1, 2, 4, 3, 5] } as Case["inputs"], extra: 5 },
    ),
    ...both("given statistics", [2, 3, 4, 3, 16], { act: "silu" }, { inputs: { stats } as Case["inputs"] }),
    ...both(
      "weights f16 at byte 1, x bf16",
      [1, 2, 3, 5, 24],
      {},
      {
        inputs: {
          x: { dims: [1, 2, 3, 5, 24], dtype: "bf16" },
          weight: { dims: [24], dtype: "f16", shiftBytes: 1 },
        } as Case["inputs"],
      },
    ),
    ...both(
      "x f16",
      [1, 2, 3, 5, 64],
      { act: "silu" },
      { inputs: { x: { dims: [1, 2, 3, 5, 64], dtype: "f16" } } as Case["inputs"] },
    ),
    ...both(
      "numbers beyond the range",
      [1, 1, 4, 4, 16],
      { groups: 4 },
      { inputs: { yScale: { dims: [1, 1, 1, 1], fill: { values: [0.002] } } } as Case["inputs"] },
    ),
  ],
  bench: [
    bench("svd-xt.unet.down0.res0.norm1", [2, 25, 72, 128, 320]),
    bench("svd-xt.unet.down0.res0.temporal.norm1", [2, 25, 72, 128, 320], { joinFrames: true }),
    bench("svd-xt.vae.up3.res0.norm1", [1, 8, 576, 1024, 256]),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    ...both("one-core.4 frames of 320", [1, 4, 36, 64, 320], silu),
  ],
});
