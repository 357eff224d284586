import { biasesAt, withEpilogue } from "./epilogue";
import { at, dot, type Plain, type PlainCall, plain } from "./plain";
import { scattered } from "./transposed-conv";

/** x with its zeros around it. */
function framed(call: PlainCall): Plain {
  const x = call.operand("x");
  const [front, back, top, bottom, left, right] = call.list("padding") as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [b, f, h, w, c] = x.dims as [number, number, number, number, number];
  const dims = [b, f + front + back, h + top + bottom, w + left + right, c];
  return plain(dims, (i, frame, row, column, channel) => {
    const [y, z, u] = [frame - front, row - top, column - left];
    if (y < 0 || y >= f || z < 0 || z >= h || u < 0 || u >= w) return 0;
    return x.data[(((i * f + y) * h + z) * w + u) * c + channel]!;
  });
}

/** The sums of a convolution, a correlation without zeros over the framed clip: [B,G,P,Q,K]. */
function convolution(call: PlainCall): Plain {
  const x = framed(call);
  const weight = call.operand("weight");
  const [K, C, T, R, S] = weight.dims as [number, number, number, number, number];
  const [b, F, H, W] = x.dims as [number, number, number, number];
  const [df, dh, dw] = call.list("stride") as [number, number, number];
  // Channels last, as in the clip.
  const filters = plain([K, T, R, S, C], (k, t, r, s, c) => at(weight, k, c, t, r, s));
  const steps = (size: number, kernel: number, step: number) => Math.floor((size - kernel) / step) + 1;
  return plain([b, steps(F, T, df), steps(H, R, dh), steps(W, S, dw), K], (i, g, p, q, k) => {
    let sum = 0;
    for (let t = 0; t < T; t++)
      for (let r = 0; r < R; r++)
        for (let s = 0; s < S; s++) {
          const pixel = (((i * F + g * df + t) * H + p * dh + r) * W + q * dw + s) * C;
          sum += dot(x.data, pixel, filters.data, (((k * T + t) * R + r) * S + s) * C, C);
        }
    return sum;
  });
}

/** A convolution in 8 bits with its epilogue: the convolution of the codes, times the scales. */
export function convInCodes(call: PlainCall): Plain {
  const sums = call.flag("transposed") ? scattered(call) : convolution(call);
  const [xScale, weightScale] = [call.operand("xScale"), call.operand("weightScale")];
  const product = plain(sums.dims, (i, g, p, q, k) => {
    const scale = at(xScale, i, 0, 0, 0) * at(weightScale, k, 0);
    return at(sums, i, g, p, q, k) * scale + biasesAt(call, i, g, k);
  });
  return withEpilogue(call, product);
}
