import { type CaseOf, defineCases } from "../../contract/define-case";
import pool from "./pool.op";

type Case = CaseOf<typeof pool>;
type Three = [number, number, number];
type Six = [number, number, number, number, number, number];

interface Window {
  kernel: Three;
  stride?: Three;
  padding?: Six;
}

const MODES = [
  { name: "max", attrs: { mode: "max" } },
  { name: "average", attrs: { mode: "average" } },
  { name: "average without padding", attrs: { mode: "average", countIncludePad: false } },
] as const;

/** The same window in every mode. */
const all = (name: string, x: readonly number[], window: Window): Case[] =>
  MODES.map((mode) => ({ name: `${mode.name}, ${name}`, inputs: { x }, attrs: { ...mode.attrs, ...window } }));

const halves: Window = { kernel: [1, 2, 2], stride: [1, 2, 2] };
const three: Window = { kernel: [1, 3, 3], stride: [1, 2, 2], padding: [0, 0, 1, 1, 1, 1] };

export default defineCases(pool, {
  correctness: [
    ...all("2x2 by 2", [2, 3, 6, 8, 16], halves),
    ...all("2x2 by 2, odd sizes", [1, 2, 5, 7, 5], halves),
    ...all("3x3 by 2, padded", [1, 2, 7, 9, 24], three),
    ...all("3x3 by 1, padded", [1, 1, 4, 5, 3], { kernel: [1, 3, 3], padding: [0, 0, 1, 1, 1, 1] }),
    ...all("3x5x5, padded", [1, 4, 7, 6, 8], { kernel: [3, 5, 5], padding: [1, 1, 2, 2, 2, 2] }),
    ...all("2 frames by 2, padded behind", [1, 5, 3, 2, 4], {
      kernel: [2, 1, 1],
      stride: [2, 1, 1],
      padding: [0, 1, 0, 0, 0, 0],
    }),
    ...all("4x3 by 3x1, lopsided padding", [1, 1, 9, 6, 9], {
      kernel: [1, 4, 3],
      stride: [1, 3, 1],
      padding: [0, 0, 2, 1, 0, 1],
    }),
    ...all("1x1x1 by 2", [1, 3, 5, 5, 7], { kernel: [1, 1, 1], stride: [2, 2, 2] }),
    ...all("the whole frame", [2, 2, 4, 5, 33], { kernel: [1, 4, 5] }),
    ...all("one number", [1, 1, 1, 1, 1], { kernel: [1, 1, 1] }),
    ...MODES.map(
      (mode): Case => ({
        name: `${mode.name}, on gaps`,
        inputs: { x: { dims: [2, 2, 5, 6, 13], gap: 6, shiftBytes: 4 } },
        attrs: { ...mode.attrs, ...three },
        outGap: 4,
      }),
    ),
    {
      name: "max of numbers below zero",
      inputs: { x: { dims: [1, 1, 5, 6, 8], fill: { mean: -30, deviation: 1 } } },
      attrs: { mode: "max", ...three },
    },
    { name: "x f16", inputs: { x: { dims: [1, 1, 5, 6, 8], dtype: "f16" } }, attrs: { mode: "max", ...three } },
    { name: "x bf16", inputs: { x: { dims: [1, 1, 5, 6, 8], dtype: "bf16" } }, attrs: { mode: "average", ...three } },
  ],
  bench: [
    { name: "max 3x3 by 2, 64 channels, 32x32", inputs: { x: [1, 14, 32, 32, 64] }, attrs: { mode: "max", ...three } },
    {
      name: "max 3x3 by 2, 64 channels, 288x512",
      inputs: { x: [1, 25, 288, 512, 64] },
      attrs: { mode: "max", ...three },
    },
    {
      name: "average 2x2 by 2, 320 channels",
      inputs: { x: [2, 25, 72, 128, 320] },
      attrs: { mode: "average", ...halves },
    },
  ],
});
