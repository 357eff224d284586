import { type CaseOf, defineCases } from "../../contract/define-case";
import layerNorm from "./layer_norm.op";

type Case = CaseOf<typeof layerNorm>;

const norm = (name: string, x: number[], inputs: Case["inputs"] = {}, eps = 1e-5): Case => ({
  name,
  inputs: { x, weight: [x[3]!], bias: [x[3]!], ...inputs },
  attrs: { eps },
});

const types = (["f16", "bf16"] as const).flatMap((dtype): Case[] => [
  norm(`weights ${dtype}`, [1, 2, 9, 13], {
    weight: { dims: [13], dtype },
    bias: { dims: [13], dtype, shiftBytes: 1 },
  }),
  norm(`x ${dtype}`, [1, 2, 9, 16], { x: { dims: [1, 2, 9, 16], dtype } }),
]);

/** Without weight and bias. */
const bare = (name: string, x: readonly number[], inputs: Case["inputs"] = {}): Case => ({
  name,
  inputs: { x, ...inputs },
  attrs: { eps: 1e-6 },
});

/** One for each number of threads that a row is given on a GPU. */
const lengths = [40, 128, 256, 320, 640, 1280, 2048, 3072, 6144, 6152].map((channels) =>
  bare(`${channels} channels, modulated`, [1, 2, 3, channels], {
    scale: [1, 1, 1, channels],
    shift: [1, 2, 1, channels],
  }),
);

const modulated: Case[] = [
  bare("neither weight nor bias", [2, 3, 5, 24]),
  bare("neither weight nor bias, odd", [2, 3, 5, 7]),
  bare("weight alone", [1, 2, 5, 24], { weight: [24] }),
  bare("bias alone", [1, 2, 5, 24], { bias: { dims: [24], dtype: "bf16" } }),
  norm("weight and bias, more channels than registers hold", [1, 1, 3, 2056]),
  bare("scale and shift of clips", [2, 3, 5, 16], { scale: [2, 1, 1, 16], shift: [2, 1, 1, 16] }),
  bare("scale and shift of frames", [2, 3, 5, 16], { scale: [1, 3, 1, 16], shift: [2, 3, 1, 16] }),
  bare("scale and shift of tokens", [2, 3, 5, 16], { scale: [2, 3, 5, 16], shift: [1, 1, 5, 16] }),
  bare("scale alone", [2, 3, 5, 9], { scale: [2, 3, 1, 9] }),
  norm("shift alone, behind weight and bias", [2, 3, 5, 9], { shift: [2, 1, 5, 9] }),
  {
    ...norm("everything on gaps", [2, 2, 5, 24], {
      x: { dims: [2, 2, 5, 24], gap: 8 },
      scale: { dims: [2, 1, 1, 24], gap: 120 },
      shift: { dims: [2, 2, 1, 24], gap: 8 },
    }),
    outGap: 16,
  },
  {
    ...norm("everything on odd gaps", [2, 2, 5, 24], {
      x: { dims: [2, 2, 5, 24], gap: 1, shiftBytes: 4 },
      scale: { dims: [2, 1, 1, 24], gap: 3 },
      shift: { dims: [2, 2, 1, 24], gap: 5 },
    }),
    outGap: 3,
  },
  bare("big mean, no weight", [1, 1, 9, 48], { x: { dims: [1, 1, 9, 48], fill: { mean: 100, deviation: 1 } } }),
  ...lengths,
];

export default defineCases(layerNorm, {
  correctness: [
    norm("odd", [2, 3, 5, 7]),
    norm("one channel", [1, 1, 3, 1]),
    norm("one token", [1, 1, 1, 64]),
    norm("65 channels", [1, 2, 17, 65]),
    norm("1280 channels", [1, 1, 3, 1280]),
    norm("256 channels, one token", [1, 1, 1, 256]),
    norm("1280 channels, weights of two types", [1, 2, 7, 1280], {
      weight: { dims: [1280], dtype: "f16" },
      bias: { dims: [1280], dtype: "bf16" },
    }),
    {
      ...norm("2048 channels on gaps, big mean", [1, 1, 5, 2048], {
        x: { dims: [1, 1, 5, 2048], gap: 8, fill: { mean: 20, deviation: 1 } },
      }),
      outGap: 16,
    },
    norm("many tokens", [1, 3, 150, 24]),
    norm("eps 0", [1, 1, 6, 16], {}, 0),
    norm("small numbers", [2, 1, 9, 48], { x: { dims: [2, 1, 9, 48], fill: { mean: 0, deviation: 0.003 } } }),
    norm("big mean", [1, 1, 9, 48], { x: { dims: [1, 1, 9, 48], fill: { mean: 100, deviation: 1 } } }),
    { ...norm("on gaps", [2, 2, 5, 12], { x: { dims: [2, 2, 5, 12], gap: 5, shiftBytes: 4 } }), outGap: 9 },
    norm("weights at byte 1", [1, 2, 9, 13], {
      weight: { dims: [13], shiftBytes: 1 },
      bias: { dims: [13], shiftBytes: 2 },
    }),
    norm("scale and shift that may change", [1, 2, 9, 13], {
      weight: { dims: [13], constant: false },
      bias: { dims: [13], constant: false },
    }),
    ...types,
    ...modulated,
  ],
  bench: [
    norm("tiny.unet.down0.attn0.spatial.norm1", [2, 14, 256, 64]),
    norm("svd-xt.unet.down0.attn0.spatial.norm1", [2, 25, 9216, 320]),
    norm("svd-xt.clip.layer0.norm1", [1, 1, 257, 1280]),
    bare("1536 channels, 32760 tokens, scale and shift", [1, 1, 32760, 1536], {
      scale: [1, 1, 1, 1536],
      shift: [1, 1, 1, 1536],
    }),
    bare("3072 channels, 32760 tokens, scale and shift", [1, 1, 32760, 3072], {
      scale: [1, 1, 1, 3072],
      shift: [1, 1, 1, 3072],
    }),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    norm("one-core.tokens of 640", [1, 1, 4608, 640]),
  ],
});
