import { countOf, shown } from "@vd/kernels-native";
import { elementwise, type Graph, reshape, type Tensor, tokens } from "@vd/tensor";
import { ownWeight } from "../models/unet-2d/own-weight";
import type { LivePicture } from "../session/types";

type Size = { width: number; height: number };

/** Half of the largest level: level / HALF − 1 is the number in [-1, 1] that networks see. */
const HALF = 127.5;

/** 8-bit levels as numbers in [-1, 1]. */
const NUMBERS = Float32Array.from({ length: 256 }, (_, level) => level / HALF - 1);

const isBytes = (data: unknown): data is LivePicture["data"] =>
  data instanceof Uint8Array || data instanceof Uint8ClampedArray;

/** Bytes a pixel of a picture of that size, 3 or 4; undefined for what is none, whatever it is. */
export function bytesPerPixel(picture: LivePicture, { width, height }: Size): 3 | 4 | undefined {
  if (picture?.width !== width || picture.height !== height || !isBytes(picture.data)) return undefined;
  const bytes = picture.data.length / (width * height);
  return bytes === 3 || bytes === 4 ? bytes : undefined;
}

/** A picture in words, whatever it is. */
export function pictureInWords(picture: LivePicture): string {
  if (typeof picture !== "object" || picture === null) return shown(picture);
  const { width, height, data } = picture;
  if (!isBytes(data)) return "an object without bytes in data";
  return `${shown(width)} x ${shown(height)}, ${data.length} bytes`;
}

/** Writes 8-bit levels as numbers in [-1, 1], and returns them. */
export function numbersOfLevels(levels: Uint8Array, into: Float32Array): Float32Array {
  for (let i = 0; i < levels.length; i++) into[i] = NUMBERS[levels[i]!]!;
  return into;
}

/** The level whose number is nearest. */
export const levelOfNumber = (value: number): number => Math.min(255, Math.max(0, Math.round((value + 1) * HALF)));

/** Most levels that are turned into numbers together. */
const MOST = 64;

const divisorOf = (count: number): number => {
  let width = MOST;
  while (count % width !== 0) width /= 2;
  return width;
};

/**
 * Records what {@link numbersOfLevels} computes, in every bit: a picture's bytes as they are become numbers on the device. Kernels read 8 bits as
 * factors of products only, and as signed ones: so there is a product with ones, and levels above 127, which it takes for those below 0, get 256
 * more. bytes: i8[1,F,H,W,C] → f32[1,F,H·W,C].
 */
export function recordLevels(g: Graph, bytes: Tensor): Tensor {
  const width = divisorOf(countOf(bytes.dims));
  const signed = g.empty(bytes.dims);
  const ones = new Int8Array(width * width);
  for (let i = 0; i < width; i++) ones[i * width + i] = 1;
  const one = g.constant(Float32Array.of(1), [1, 1, 1, 1]);
  const rows = [1, 1, countOf(bytes.dims) / width, width];
  g.linearQ8({
    ...{ name: "context.bytes", x: reshape(bytes, rows), xScale: one, weight: ownWeight("ones", ones, [width, width]) },
    ...{ weightScale: reshape(one, [1, 1]), out: reshape(signed, rows) },
  });
  const out = g.empty(tokens(bytes).dims, "f32");
  const s = tokens(signed);
  elementwise(g, (e) => e.div(e.sub(e.add(s, e.mul(256, e.min(e.max(e.sub(0, s), 0), 1))), HALF), HALF), {
    name: "context.levels",
    out,
  });
  return out;
}
