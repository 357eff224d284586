import { type CaseOf, defineCases } from "../../contract/define-case";
import rmsNorm from "./rms_norm.op";

type Case = CaseOf<typeof rmsNorm>;

const norm = (name: string, x: readonly number[], inputs: Case["inputs"] = {}, eps = 1e-6): Case => ({
  name,
  inputs: { x, weight: [x[3]!], ...inputs },
  attrs: { eps },
});

/** Without weight. */
const bare = (name: string, x: readonly number[], inputs: Case["inputs"] = {}): Case => ({
  name,
  inputs: { x, ...inputs },
  attrs: { eps: 1e-6 },
});

const types = (["f16", "bf16"] as const).flatMap((dtype): Case[] => [
  norm(`weight ${dtype} at byte 1`, [1, 2, 9, 13], { weight: { dims: [13], dtype, shiftBytes: 1 } }),
  norm(`x ${dtype}`, [1, 2, 9, 16], { x: { dims: [1, 2, 9, 16], dtype } }),
]);

/** One for each number of threads that a row is given on a GPU. */
const lengths = [40, 64, 320, 640, 1280, 1536, 2048, 3072, 5120, 6152].map((channels) =>
  norm(`${channels} channels`, [1, 1, 5, channels]),
);

export default defineCases(rmsNorm, {
  correctness: [
    norm("odd", [2, 3, 5, 7]),
    norm("one channel", [1, 1, 3, 1]),
    norm("one token", [1, 1, 1, 64]),
    norm("65 channels", [1, 2, 17, 65]),
    norm("many tokens", [1, 3, 150, 24]),
    ...lengths,
    norm("eps 0", [1, 1, 6, 16], {}, 0),
    norm("large eps", [1, 1, 6, 16], {}, 0.5),
    norm("small numbers", [2, 1, 9, 48], { x: { dims: [2, 1, 9, 48], fill: { mean: 0, deviation: 0.003 } } }),
    norm("big mean", [1, 1, 9, 48], { x: { dims: [1, 1, 9, 48], fill: { mean: 100, deviation: 1 } } }),
    { ...norm("on gaps", [2, 2, 5, 12], { x: { dims: [2, 2, 5, 12], gap: 5, shiftBytes: 4 } }), outGap: 9 },
    bare("without weight", [2, 2, 5, 24]),
    bare("with scale", [2, 2, 5, 24], { scale: [2, 1, 1, 24] }),
    norm("with shift by frame", [2, 3, 5, 9], { shift: [1, 3, 1, 9] }),
    norm("with scale and shift by token, on gaps", [2, 3, 5, 16], {
      scale: { dims: [2, 3, 5, 16], gap: 16 },
      shift: { dims: [1, 1, 5, 16], gap: 8 },
    }),
    norm("weight that may change", [1, 2, 9, 13], { weight: { dims: [13], constant: false } }),
    ...types,
  ],
  bench: [
    norm("64 channels, 3584 tokens", [2, 14, 128, 64]),
    norm("1536 channels, 32760 tokens", [1, 1, 32760, 1536]),
    norm("3072 channels, 32760 tokens", [1, 1, 32760, 3072]),
    bare("2048 channels, 32760 tokens, scale and shift", [1, 1, 32760, 2048], {
      scale: [1, 1, 1, 2048],
      shift: [1, 1, 1, 2048],
    }),
  ],
});
