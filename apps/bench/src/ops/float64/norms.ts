import type { Plain } from "@vd/kernels-native/references";
import { chosen, indexOf, type Numbers, parts, wholeOf } from "./numbers";
import type { FullCall, SampledCall } from "./sampled-call";

/** Tokens whose results are looked at, all channels of each. */
const TOKENS = 32;
/** Sets of channels with statistics of their own that are looked at, and pixels of each. */
const SETS = 4;
const PIXELS = 32;

/** The place of the token with the largest of all numbers; those behind the pattern repeat it. */
function tokenOfLargest({ dims, pattern }: Numbers): number {
  const count = Math.min(
    pattern.length,
    dims.reduce((product, size) => product * size, 1),
  );
  let found = 0;
  for (let i = 1; i < count; i++) if (Math.abs(pattern[i]!) > Math.abs(pattern[found]!)) found = i;
  return Math.floor(found / dims.at(-1)!);
}

/** An op that makes each token of itself, at some tokens; where one scale is for all, the token that decides it is among the small
 *  call's. */
export function sampleTokens({ label, attrs, operands, resultDims }: FullCall): SampledCall[] {
  const [b, f, s, c] = resultDims as [number, number, number, number];
  const own = chosen(`${label} tokens`, TOKENS, b * f * s);
  const all = attrs.per === "tensor" ? [...own, tokenOfLargest(operands.x!)] : own;
  const places = all.map((place) => indexOf(place, [b, f, s]));
  const take = (numbers: Numbers): Plain => {
    if (numbers.dims.length === 1) return wholeOf(numbers);
    const { dims, data } = parts(numbers, places);
    return { dims: [dims[0]!, 1, 1, dims[1]!], data };
  };
  const named = Object.entries(operands).map(([name, numbers]) => [name, take(numbers)] as const);
  const elements = own.flatMap((place, i) =>
    Array.from({ length: c }, (_, channel) => ({ from: i * c + channel, to: place * c + channel })),
  );
  return [{ operands: Object.fromEntries(named), elements }];
}

/** Mean and 1/√(variance + eps) of `width` channels of some pixels, the last one left out. read: puts those of a pixel into a row. */
function statisticsOf(
  read: (pixel: number, target: Float64Array) => void,
  pixels: readonly [number, number],
  width: number,
  eps: number,
): [number, number] {
  const row = new Float64Array(width);
  const count = (pixels[1] - pixels[0]) * width;
  const sum = (of: (value: number) => number) => {
    let total = 0;
    for (let pixel = pixels[0]; pixel < pixels[1]; pixel++) {
      read(pixel, row);
      for (let i = 0; i < width; i++) total += of(row[i]!);
    }
    return total / count;
  };
  const mean = sum((value) => value);
  return [mean, 1 / Math.sqrt(sum((value) => (value - mean) ** 2) + eps)];
}

/** A norm of channel groups at some pixels of some groups, with statistics of all that is normalised together. */
export function sampleGroups({ label, attrs, operands, resultDims }: FullCall): SampledCall[] {
  const [B, F, H, W, C] = resultDims as [number, number, number, number, number];
  const groups = attrs.groups as number;
  const [width, frames] = [C / groups, attrs.joinFrames === true ? 1 : F];
  const perSet = (B * F * H * W) / (B * frames);
  const { x, x2, stats } = operands;
  const channelsOfX = x!.dims[4]!;
  return chosen(`${label} groups`, SETS, B * frames * groups).map((place) => {
    const [set, group] = [Math.floor(place / groups), place % groups];
    const first = group * width;
    const fromX = Math.max(0, Math.min(width, channelsOfX - first));
    const read = (pixel: number, target: Float64Array) => {
      if (fromX > 0) x!.copy(pixel * channelsOfX + first, target, 0, fromX);
      if (fromX < width) {
        const rest = C - channelsOfX;
        x2!.copy(pixel * rest + first + fromX - channelsOfX, target, fromX, width - fromX);
      }
    };
    const [begin, end] = [set * perSet, (set + 1) * perSet];
    const given = stats && [stats.element(2 * place), stats.element(2 * place + 1)];
    const found = given ?? statisticsOf(read, [begin, end], width, attrs.eps as number);
    const pixels = chosen(`${label} pixels ${place}`, PIXELS, perSet).map((pixel) => begin + pixel);
    const data = new Float64Array(pixels.length * width);
    pixels.forEach((pixel, i) => {
      read(pixel, data.subarray(i * width, (i + 1) * width));
    });
    const vector = (numbers: Numbers): Plain => {
      const values = new Float64Array(width);
      numbers.copy(first, values, 0, width);
      return { dims: [width], data: values };
    };
    const small: Record<string, Plain> = {
      x: { dims: [1, 1, 1, pixels.length, width], data },
      stats: { dims: [1, 1, 1, 2], data: Float64Array.from(found) },
      ...{ weight: vector(operands.weight!), bias: vector(operands.bias!) },
      ...(operands.yScale ? { yScale: parts(operands.yScale, [[0]]) } : {}),
    };
    const elements = pixels.flatMap((pixel, i) =>
      Array.from({ length: width }, (_, c) => ({
        ...{ from: i * width + c, to: pixel * C + first + c },
      })),
    );
    return { operands: small, attrs: { groups: 1, joinFrames: false }, elements };
  });
}

/** A small call whole. */
export function sampleAll({ operands, resultDims }: FullCall): SampledCall[] {
  const count = resultDims.reduce((product, size) => product * size, 1);
  const whole = Object.entries(operands).map(([name, numbers]) => [name, wholeOf(numbers)] as const);
  const elements = Array.from({ length: count }, (_, i) => ({ from: i, to: i }));
  return [{ operands: Object.fromEntries(whole), elements }];
}
