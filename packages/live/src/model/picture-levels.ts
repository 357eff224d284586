import { countOf } from "@vd/kernels-native";
import { type Graph, reshape, type Tensor, tokens } from "@vd/tensor";
import { ownWeight } from "../models/unet-2d/own-weight";

/** Half of the largest level: level / HALF − 1 is the number in [-1, 1] that networks see. */
export const HALF = 127.5;

/** 8-bit levels as numbers in [-1, 1]. */
const NUMBERS = Float32Array.from({ length: 256 }, (_, level) => level / HALF - 1);

/** Writes 8-bit levels as numbers in [-1, 1], and returns them. */
export function numbersOfLevels(levels: Uint8Array, into: Float32Array): Float32Array {
  for (let i = 0; i < levels.length; i++) into[i] = NUMBERS[levels[i]!]!;
  return into;
}

/** The highest bits of four levels. */
const SIGNS = 0x80808080;

/** Writes 8-bit levels as signed codes, level − 128, and returns them: the one form of 8 bits that kernels read. into: at the start of its
 *  buffer. */
export function codesOfLevels(levels: Uint8Array, into: Int8Array): Int8Array {
  const bytes = new Uint8Array(into.buffer, 0, into.length);
  bytes.set(levels);
  // Four levels at a time: large pictures come hundreds of times a second.
  const words = new Uint32Array(into.buffer, 0, into.length >> 2);
  for (let i = 0; i < words.length; i++) words[i]! ^= SIGNS;
  for (let i = words.length * 4; i < bytes.length; i++) bytes[i]! ^= 0x80;
  return into;
}

/** The number in [-1, 1] of a code of {@link codesOfLevels}. */
export const numberOfCode = (code: number): number => (code + 0.5) / HALF;

/** The code whose number is nearest. */
export const codeOfNumber = (value: number): number => Math.min(127, Math.max(-128, Math.round(value * HALF - 0.5)));

/** Most codes that are turned into numbers together. */
const MOST = 64;

const divisorOf = (count: number): number => {
  let width = MOST;
  while (count % width !== 0) width /= 2;
  return width;
};

/**
 * Records the numbers of a picture's codes, times {@link HALF}: exact in every type, so that one division gives what {@link numbersOfLevels} does.
 * A product with ones, since 8-bit products are what reads codes. codes: i8[1,F,H,W,C] → [1,F,H·W,C] in the graph's type.
 */
export function recordLevels(g: Graph, codes: Tensor): Tensor {
  const width = divisorOf(countOf(codes.dims));
  const out = g.empty(codes.dims);
  const ones = new Int8Array(width * width);
  for (let i = 0; i < width; i++) ones[i * width + i] = 1;
  const one = g.constant(Float32Array.of(1), [1, 1, 1, 1]);
  const rows = [1, 1, countOf(codes.dims) / width, width];
  g.linearQ8({
    ...{
      name: "context.levels",
      x: reshape(codes, rows),
      xScale: one,
      weight: ownWeight("ones", ones, [width, width]),
    },
    ...{ weightScale: reshape(one, [1, 1]), bias: g.constant(new Float32Array(width).fill(0.5), [width]) },
    out: reshape(out, rows),
  });
  return tokens(out);
}
