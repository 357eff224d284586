import { type CaseOf, defineCases } from "../../contract/define-case";
import { POINTWISE_ACTIVATIONS } from "../../contract/epilogue";
import pointwise from "./pointwise.op";

type Case = CaseOf<typeof pointwise>;

const a = [2, 3, 5, 7];
const biases = ([1, 2] as const).flatMap((b) =>
  ([1, 3] as const).map((f): Case => ({ name: `frame bias ${b}x${f}`, inputs: { a, frameBias: [b, f, 7] } })),
);

const acts = POINTWISE_ACTIVATIONS.flatMap((act): Case[] => [
  { name: act, inputs: { a }, attrs: { act } },
  { name: `${act} of large numbers`, inputs: { a: { dims: a, fill: { mean: 0, deviation: 30 } } }, attrs: { act } },
  {
    name: `everything, ${act}`,
    inputs: {
      a: { dims: a, gap: 2 },
      b: { dims: a, gap: 9 },
      c: { dims: a, gap: 1, shiftBytes: 4 },
      frameBias: { dims: [2, 3, 7], gap: 4 },
    },
    attrs: { act, aScale: 0.75, bScale: -1.25 },
    outGap: 3,
  },
]);

export default defineCases(pointwise, {
  correctness: [
    { name: "a", inputs: { a } },
    { name: "one number", inputs: { a: [1, 1, 1, 1] } },
    { name: "a scaled", inputs: { a }, attrs: { aScale: -3 } },
    { name: "a and b", inputs: { a, b: a }, attrs: { bScale: 0.5 } },
    { name: "a, b and c", inputs: { a, b: a, c: a } },
    { name: "a times 0", inputs: { a, b: a, c: a }, attrs: { aScale: 0 } },
    { name: "133 channels", inputs: { a: [1, 2, 9, 133], b: [1, 2, 9, 133] } },
    ...biases,
    ...acts,
    { name: "a f16", inputs: { a: { dims: a, dtype: "f16" } }, attrs: { act: "silu" } },
  ],
  bench: [
    { name: "tiny.unet.down0.attn0.add_position", inputs: { a: [2, 14, 256, 64], frameBias: [1, 14, 64] } },
    { name: "svd-xt.unet.down0.attn0.add_position", inputs: { a: [2, 25, 9216, 320], frameBias: [1, 25, 320] } },
  ],
});
