import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import layerNormQ8 from "./layer_norm_q8.op";

type Case = CaseOf<typeof layerNormQ8>;

/** Both types, with the scales as a second result. */
const bare = (name: string, inputs: Case["inputs"], more: Partial<Case> = {}): Case[] =>
  (["f8e4m3", "i8"] as const).map((outType) => ({
    ...{ name: `${name}, ${outType}`, outType, also: ["scales"], inputs, attrs: { eps: 1e-5 } },
    ...more,
  }));

/** The same with weight and bias. */
const both = (
  name: string,
  x: Operand["dims"],
  inputs: Partial<Case["inputs"]> = {},
  more: Partial<Case> = {},
): Case[] => bare(name, { x, weight: [x[3]!], bias: [x[3]!], ...inputs } as Case["inputs"], more);

/** One for each number of threads that a row is given on a GPU. */
const lengths = [40, 128, 256, 320, 640, 1280, 2048, 3072, 6144, 6152].flatMap((channels) =>
  both(`${channels} channels`, [1, 2, 3, channels]),
);

/** With one scale for all tokens; it leaves room for 6 deviations and more. scale: another one. */
const known = (
  name: string,
  x: Operand["dims"],
  inputs: Partial<Case["inputs"]> = {},
  { scale, ...more }: Partial<Case> & { scale?: number } = {},
): Case[] =>
  both(name, x, inputs, { also: [], ...more }).map((each) => {
    const values = [scale ?? (each.outType === "i8" ? 0.05 : 0.02)];
    return { ...each, inputs: { ...each.inputs, yScale: { dims: [1, 1, 1, 1], fill: { values } } } };
  });

const knownScales = [
  ...[320, 640, 1280, 6152].flatMap((channels) => known(`${channels} channels, known scale`, [1, 2, 3, channels])),
  ...known("odd, known scale", [2, 3, 5, 7]),
  ...known("one channel, known scale", [1, 1, 3, 1]),
  ...known("many tokens, known scale", [1, 3, 150, 24]),
  ...known("scales of a known scale", [2, 3, 5, 24], {}, { also: ["scales"] }),
  ...known("scales of a known scale, one number at a time", [2, 3, 5, 13], {}, { also: ["scales"] }),
  ...known("on gaps, known scale", [2, 2, 5, 24], { x: { dims: [2, 2, 5, 24], gap: 8 } }, { outGap: 16 }),
  ...known("on odd gaps, known scale", [2, 2, 5, 12], { x: { dims: [2, 2, 5, 12], gap: 5 } }, { outGap: 9 }),
  ...known("x f16, known scale", [1, 2, 9, 320], { x: { dims: [1, 2, 9, 320], dtype: "f16" } }),
  ...known("x bf16, known scale", [1, 2, 9, 64], { x: { dims: [1, 2, 9, 64], dtype: "bf16" } }),
  // More than a GPU's blocks that stay have in one turn, and a last turn that not all threads have a part of.
  ...known("several turns of x f16, known scale", [1, 1, 9001, 8], { x: { dims: [1, 1, 9001, 8], dtype: "f16" } }),
  ...known("scale of frames, shift of tokens, known scale", [2, 3, 5, 16], {
    scale: [2, 3, 1, 16],
    shift: [1, 1, 5, 16],
  }),
  ...known("numbers beyond the range of a known scale", [1, 2, 9, 64], {}, { scale: 0.002 }),
  ...known("zeros, known scale", [1, 1, 3, 16], {
    x: { dims: [1, 1, 3, 16], fill: { values: [0] } },
    bias: { dims: [16], fill: { values: [0] } },
  }),
];

/** The norm before a linear layer of SVD, timed in one type. */
const bench = (name: string, x: number[]): Case => ({
  name,
  outType: "i8",
  also: ["scales"],
  inputs: { x, weight: [x[3]!], bias: [x[3]!] },
  attrs: { eps: 1e-5 },
});

export default defineCases(layerNormQ8, {
  correctness: [
    ...both("odd", [2, 3, 5, 7]),
    ...both("one channel", [1, 1, 3, 1]),
    ...both("one token", [1, 1, 1, 64]),
    ...both("65 channels", [1, 2, 17, 65]),
    ...both("many tokens", [1, 3, 150, 24]),
    ...both("several turns of x f16", [1, 1, 9001, 8], { x: { dims: [1, 1, 9001, 8], dtype: "f16" } }),
    ...both("big mean", [1, 1, 9, 48], { x: { dims: [1, 1, 9, 48], fill: { mean: 100, deviation: 1 } } }),
    ...both("zeros", [1, 1, 3, 16], {
      x: { dims: [1, 1, 3, 16], fill: { values: [0] } },
      bias: { dims: [16], fill: { values: [0] } },
    }),
    ...both("on gaps", [2, 2, 5, 24], { x: { dims: [2, 2, 5, 24], gap: 8 } }, { outGap: 16 }),
    ...both("on odd gaps", [2, 2, 5, 12], { x: { dims: [2, 2, 5, 12], gap: 5 } }, { outGap: 9 }),
    ...bare("neither weight nor bias", { x: [2, 3, 5, 24] }),
    ...both("scale of frames, shift of tokens", [2, 3, 5, 16], { scale: [2, 3, 1, 16], shift: [1, 1, 5, 16] }),
    ...both("weights bf16 at byte 1", [1, 2, 9, 13], {
      weight: { dims: [13], dtype: "bf16", shiftBytes: 1 },
      bias: { dims: [13], dtype: "bf16", shiftBytes: 1 },
    }),
    ...both("x f16", [1, 2, 9, 320], { x: { dims: [1, 2, 9, 320], dtype: "f16" } }),
    ...both("x bf16", [1, 2, 9, 64], { x: { dims: [1, 2, 9, 64], dtype: "bf16" } }),
    ...lengths,
    ...knownScales,
  ],
  bench: [
    bench("svd-xt.unet.down0.attn0.spatial.norm1", [2, 25, 9216, 320]),
    bench("svd-xt.unet.down2.attn0.spatial.norm1", [2, 25, 576, 1280]),
    ...known("svd-xt.unet.down0.attn0.spatial.norm1, known scale", [2, 25, 9216, 320]),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    ...both("one-core.tokens of 640", [1, 1, 4608, 640]),
  ],
});
