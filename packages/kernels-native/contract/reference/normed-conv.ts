import { ACTIVATE } from "./activations";
import { biasesAt, withEpilogue } from "./epilogue";
import { at, type Plain, type PlainCall, plain } from "./plain";
import { roundToCode } from "./rounding";

/** Channels x normalised by the given statistics, if there are any, and activated. */
function source(call: PlainCall, x: Plain): Plain {
  const stats = call.optional("stats");
  if (!stats) return x;
  const [weight, bias] = [call.operand("normWeight").data, call.operand("normBias").data];
  const act = ACTIVATE[call.word("normAct")]!;
  const width = x.dims[4]! / stats.dims[2]!;
  return plain(x.dims, (b, f, h, w, c) => {
    const at2 = (i: number) => at(stats, b!, stats.dims[1] === 1 ? 0 : f!, Math.floor(c! / width), i);
    return act((at(x, b!, f!, h!, w!, c!) - at2(0)) * at2(1) * weight[c!]! + bias[c!]!);
  });
}

/** Where the taps of filters of a size lie around a result: frames, rows and columns. front: frames in front of the first. */
function offsetsOf(size: readonly number[], front: number): [number, number, number][] {
  const [T, R, S] = size as [number, number, number];
  return Array.from({ length: T * R * S }, (_, tap) => [
    Math.floor(tap / (R * S)) - front,
    (Math.floor(tap / S) % R) - Math.floor(R / 2),
    (tap % S) - Math.floor(S / 2),
  ]);
}

/** The result of a correlation of x with 3x3 filters inside every frame or 3x1x1 filters over frames, zeros around them. scaleOf: what a
 *  filter's sums are multiplied with. */
function correlated(call: PlainCall, x: Plain, scaleOf: (filter: number) => number): Plain {
  const weight = call.operand("weight");
  const [B, F, H, W, C] = x.dims as [number, number, number, number, number];
  // 3x3 filters have no such attribute in every op.
  const [front, back] = weight.dims[2] === 1 ? [0, 0] : (call.list("temporalPadding") as [number, number]);
  const taps = offsetsOf(weight.dims.slice(2), front);
  const frames = F + front + back - weight.dims[2]! + 1;
  const product = plain([B, frames, H, W, weight.dims[0]!], (b, f, p, q, k) => {
    let sum = 0;
    for (const [tap, [later, below, right]] of taps.entries()) {
      const [g, h, w] = [f! + later, p! + below, q! + right];
      if (g < 0 || g >= F || h < 0 || h >= H || w < 0 || w >= W) continue;
      const pixel = (((b! * F + g) * H + h) * W + w) * C;
      for (let c = 0; c < C; c++) sum += x.data[pixel + c]! * weight.data[(k! * C + c) * taps.length + tap]!;
    }
    return sum * scaleOf(k!) + biasesAt(call, b!, f!, k!);
  });
  return withEpilogue(call, product);
}

/** The result of a correlation of all channels, which may be normalised first, with 3x3 or 3x1x1 filters. */
export const normedConv = (call: PlainCall, channels: Plain): Plain =>
  correlated(call, source(call, channels), () => 1);

/** The same of float8 codes that the normalised channels become, and of filters in codes. */
export function normedConvInCodes(call: PlainCall, channels: Plain): Plain {
  const scale = call.operand("normScale").data[0]!;
  const { dims, data } = source(call, channels);
  const codes = { dims, data: data.map((v) => roundToCode(Math.fround(v), scale, false)) };
  const weightScale = call.operand("weightScale");
  return correlated(call, codes, (filter) => scale * at(weightScale, filter, 0));
}
