import { type CaseOf, defineCases, type Operand } from "../../contract/define-case";
import convQ8Codes from "./conv_q8_codes.op";

type Case = CaseOf<typeof convQ8Codes>;
type Pads = [number, number, number, number, number, number];

const TYPES = ["f8e4m3", "i8"] as const;
type Quantized = (typeof TYPES)[number];

const around = (frames: number, rows: number, columns = rows): Pads => [frames, frames, rows, rows, columns, columns];
/** Scales near 1/40: sums of n products have a deviation near √n. */
const scales = (dims: readonly number[]): Operand => ({ dims, fill: { mean: 0.025, deviation: 0.005 } });
const codes = (dims: readonly number[], dtype: Quantized, gap = 0): Operand => ({
  ...{ dims, dtype, gap },
  fill: { mean: 0, deviation: 40 },
});

interface Shape {
  name: string;
  x: readonly number[];
  weight: readonly number[];
  gap?: number;
  outType?: Quantized;
  /** Largest number of the codes in deviations of the sums. Default 8. */
  reach?: number;
  more?: Partial<Case>;
}

/** A shape in both types, with a scale for each filter. */
const both = ({ name, x, weight, gap = 0, outType, reach = 8, more = {} }: Shape): Case[] =>
  TYPES.map((dtype) => {
    const isTransposed = more.attrs?.transposed === true;
    // Of a transposed filter, a quarter of the taps meet one result.
    const products = isTransposed ? weight[0]! * 4 : weight.slice(1).reduce((count, size) => count * size, 1);
    const largest = (outType ?? dtype) === "i8" ? 127 : 448;
    return {
      name: `${name}, ${dtype}`,
      outType: outType ?? dtype,
      ...more,
      inputs: {
        x: codes(x, dtype, gap),
        xScale: scales([1, 1, 1, 1]),
        weight: codes(weight, dtype),
        weightScale: scales([isTransposed ? weight[1]! : weight[0]!, 1]),
        yScale: { dims: [1, 1, 1, 1], fill: { values: [(reach * Math.sqrt(products)) / largest] } },
        ...more.inputs,
      },
    };
  });

const same: Partial<Case> = { attrs: { padding: around(0, 1) } };
/** As in a block of convolutions: a bias, SiLU. */
const block = (channels: number): Partial<Case> => ({
  inputs: { bias: [channels] } as Case["inputs"],
  attrs: { padding: around(0, 1), act: "silu" },
});

const doubling: Partial<Case> = { attrs: { transposed: true, stride: [1, 2, 2], padding: around(0, 1) } };

const shapes: Shape[] = [
  { name: "transposed of odd sizes", x: [1, 2, 5, 3, 9], weight: [9, 21, 1, 4, 4], more: doubling },
  { name: "transposed 64 to 128", x: [1, 2, 8, 16, 64], weight: [64, 128, 1, 4, 4], more: doubling },
  { name: "1x1 of one channel", x: [1, 1, 3, 5, 1], weight: [1, 1, 1, 1, 1] },
  { name: "1x1 with a step of 2", x: [1, 2, 5, 7, 9], weight: [5, 9, 1, 1, 1], more: { attrs: { stride: [1, 2, 2] } } },
  { name: "3x3 of 16 to 24", x: [2, 2, 9, 14, 16], weight: [24, 16, 1, 3, 3], more: same },
  { name: "3x3 of 64, silu", x: [1, 2, 16, 16, 64], weight: [64, 64, 1, 3, 3], more: block(64) },
  { name: "3x3 of 192, silu", x: [1, 2, 9, 14, 192], weight: [192, 192, 1, 3, 3], more: block(192) },
  { name: "3x3 of 384, few tiles", x: [1, 2, 4, 4, 384], weight: [384, 384, 1, 3, 3], more: block(384) },
  { name: "3x3 of 160 to 200", x: [1, 1, 13, 11, 160], weight: [200, 160, 1, 3, 3], more: block(200) },
  {
    name: "3x3 of 160 on gaps, a scale for each clip",
    x: [2, 1, 5, 9, 160],
    weight: [24, 160, 1, 3, 3],
    gap: 16,
    more: {
      inputs: { xScale: scales([2, 1, 1, 1]), bias: [24], residual: [2, 1, 5, 9, 24] } as Case["inputs"],
      attrs: { padding: around(0, 1) },
      outGap: 8,
    },
  },
  {
    name: "over frames, everything",
    x: [2, 3, 4, 5, 64],
    weight: [32, 64, 3, 1, 1],
    more: {
      inputs: {
        ...{ bias: [32], frameBias: [2, 3, 32] },
        ...{ residual: [2, 3, 4, 5, 32], residual2: [2, 3, 4, 5, 32] },
      } as Case["inputs"],
      attrs: { padding: around(1, 0), act: "silu", outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    },
  },
  { name: "numbers beyond the range", x: [1, 1, 9, 9, 64], weight: [64, 64, 1, 3, 3], reach: 0.5, more: block(64) },
  { name: "codes of the other type", x: [1, 1, 9, 9, 64], weight: [64, 64, 1, 3, 3], outType: "i8", more: block(64) },
];

/** The layer between two convolutions of a block, timed in one type. */
const layer = (name: string, size: number, channels: number): Case => {
  const weight = [channels, channels, 1, 3, 3];
  return { ...both({ name, x: [1, 2, size, size, channels], weight, more: block(channels) })[0]!, name };
};

export default defineCases(convQ8Codes, {
  correctness: shapes.flatMap(both),
  bench: [
    layer("unet-chain.first.down1", 64, 192),
    layer("unet-chain.first.down2", 32, 384),
    layer("unet-chain.first.down3", 16, 768),
    layer("unet-chain.first.down4", 8, 1536),
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    ...both({ name: "one-core.3x3 of 320", x: [1, 1, 24, 40, 320], weight: [320, 320, 1, 3, 3], more: block(320) }),
    ...both({
      name: "one-core.3x1x1 of 640",
      x: [1, 14, 9, 16, 640],
      weight: [640, 640, 3, 1, 1],
      more: { inputs: { bias: [640] } as Case["inputs"], attrs: { padding: around(1, 0), act: "silu" } },
    }),
  ],
});
