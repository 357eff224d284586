import { type CaseOf, defineCases } from "../../contract/define-case";
import { POINTWISE_ACTIVATIONS } from "../../contract/epilogue";
import batchNorm from "./batch_norm.op";

type Case = CaseOf<typeof batchNorm>;

const positive = { mean: 1, deviation: 0.1 };

/** x with statistics, weight and bias of its channels. */
function norm(name: string, x: readonly number[], inputs: Case["inputs"] = {}, attrs: Case["attrs"] = {}): Case {
  const channels = [x[4]!];
  const vectors = { mean: channels, variance: { dims: channels, fill: positive }, weight: channels, bias: channels };
  return { name, inputs: { x, ...vectors, ...inputs }, attrs: { eps: 1e-5, ...attrs } };
}

const acts = POINTWISE_ACTIVATIONS.map((act) => norm(act, [1, 2, 3, 5, 24], {}, { act }));

const types = (["f16", "bf16"] as const).flatMap((dtype): Case[] => [
  norm(`vectors ${dtype} at byte 1`, [1, 2, 3, 3, 13], {
    mean: { dims: [13], dtype },
    variance: { dims: [13], dtype, fill: positive },
    weight: { dims: [13], dtype, shiftBytes: 1 },
    bias: { dims: [13], dtype, shiftBytes: 1 },
  }),
  norm(`x ${dtype}`, [1, 2, 3, 3, 16], { x: { dims: [1, 2, 3, 3, 16], dtype } }),
]);

/** Statistics alone. */
const bare = (name: string, x: readonly number[], more: "weight" | "bias" | undefined): Case => {
  const { weight, bias, ...rest } = norm(name, x).inputs;
  return { ...norm(name, x), inputs: { ...rest, ...(more ? { [more]: [x[4]!] } : {}) } };
};

export default defineCases(batchNorm, {
  correctness: [
    norm("odd", [2, 3, 5, 7, 7]),
    norm("one number", [1, 1, 1, 1, 1]),
    norm("333 channels", [1, 2, 3, 5, 333]),
    norm("640 channels", [1, 2, 3, 5, 640]),
    norm("many pixels", [1, 2, 40, 37, 24]),
    norm("more vectors than a block has threads", [1, 1, 2, 2, 2568]),
    bare("statistics alone", [1, 2, 3, 5, 16], undefined),
    bare("without bias", [1, 2, 3, 5, 16], "weight"),
    bare("without weight", [1, 2, 3, 5, 9], "bias"),
    norm("large eps", [1, 1, 4, 5, 16], {}, { eps: 0.5 }),
    { ...norm("on gaps", [2, 2, 4, 3, 12], { x: { dims: [2, 2, 4, 3, 12], gap: 5, shiftBytes: 4 } }), outGap: 3 },
    { ...norm("on gaps of 8", [2, 2, 4, 3, 16], { x: { dims: [2, 2, 4, 3, 16], gap: 8 } }), outGap: 16 },
    norm("vectors that may change", [1, 2, 3, 3, 13], {
      mean: { dims: [13], constant: false },
      bias: { dims: [13], constant: false },
    }),
    ...acts,
    ...types,
  ],
  bench: [
    norm("64 channels, 16x16", [2, 14, 16, 16, 64], {}, { act: "silu" }),
    norm("320 channels, 72x128", [2, 25, 72, 128, 320], {}, { act: "silu" }),
  ],
});
