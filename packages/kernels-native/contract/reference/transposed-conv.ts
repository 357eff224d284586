import { type Plain, type PlainCall, plain } from "./plain";

type Sizes5 = [number, number, number, number, number];

/** The sums of a transposed convolution, [B,F,P,Q,K]: every pixel of x adds its filters, a multiple, to the part of the result that they
 *  cover: the adjoint of a convolution. */
export function scattered(call: PlainCall): Plain {
  const [x, weight] = [call.operand("x"), call.operand("weight")];
  const [C, K, , R, S] = weight.dims as Sizes5;
  const [b, f, h, w] = x.dims as Sizes5;
  const [, dh, dw] = call.list("stride") as [number, number, number];
  const [, , top, bottom, left, right] = call.list("padding") as [...Sizes5, number];
  const [P, Q] = [(h - 1) * dh + R - top - bottom, (w - 1) * dw + S - left - right];
  const sums = plain([b, f, P, Q, K], () => 0);
  for (let pixel = 0; pixel < b * f * h * w; pixel++) {
    const [frame, row, column] = [Math.floor(pixel / (h * w)), Math.floor(pixel / w) % h, pixel % w];
    for (let tap = 0; tap < R * S; tap++) {
      const [p, q] = [row * dh + Math.floor(tap / S) - top, column * dw + (tap % S) - left];
      if (p < 0 || p >= P || q < 0 || q >= Q) continue;
      const target = ((frame * P + p) * Q + q) * K;
      for (let c = 0; c < C; c++)
        for (let k = 0; k < K; k++)
          sums.data[target + k]! += x.data[pixel * C + c]! * weight.data[(c * K + k) * R * S + tap]!;
    }
  }
  return sums;
}
