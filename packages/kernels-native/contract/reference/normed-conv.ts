import { ACTIVATE } from "./activations";
import { biasesAt, withEpilogue } from "./epilogue";
import { at, type Plain, type PlainCall, plain } from "./plain";

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

/** The result of a correlation of all channels, which may be normalised first, with 3x3 filters inside every frame, zeros around it. */
export function normedConv(call: PlainCall, channels: Plain): Plain {
  const x = source(call, channels);
  const weight = call.operand("weight");
  const [B, F, H, W, C] = x.dims as [number, number, number, number, number];
  const product = plain([B, F, H, W, weight.dims[0]!], (b, f, p, q, k) => {
    let sum = biasesAt(call, b!, f!, k!);
    for (let tap = 0; tap < 9; tap++) {
      const [h, w] = [p! + Math.floor(tap / 3) - 1, q! + (tap % 3) - 1];
      if (h < 0 || h >= H || w < 0 || w >= W) continue;
      const pixel = (((b! * F + f!) * H + h) * W + w) * C;
      for (let c = 0; c < C; c++) sum += x.data[pixel + c]! * weight.data[(k! * C + c) * 9 + tap]!;
    }
    return sum;
  });
  return withEpilogue(call, product);
}
