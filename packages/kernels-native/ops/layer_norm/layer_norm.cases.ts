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

export default defineCases(layerNorm, {
  correctness: [
    norm("odd", [2, 3, 5, 7]),
    norm("one channel", [1, 1, 3, 1]),
    norm("one token", [1, 1, 1, 64]),
    norm("65 channels", [1, 2, 17, 65]),
    norm("1280 channels", [1, 1, 3, 1280]),
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
  ],
  bench: [
    norm("tiny.unet.down0.attn0.spatial.norm1", [2, 14, 256, 64]),
    norm("svd-xt.unet.down0.attn0.spatial.norm1", [2, 25, 9216, 320]),
    norm("svd-xt.clip.layer0.norm1", [1, 1, 257, 1280]),
  ],
});
