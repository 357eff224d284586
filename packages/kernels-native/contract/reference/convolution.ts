import { type Plain, type PlainCall, plain } from "./plain";

/** x with its zeros around it, grown by nearest neighbour before. */
function framed(call: PlainCall): Plain {
  const x = call.operand("x");
  const grow = call.flag("upsample") ? 2 : 1;
  const [front, back, top, bottom, left, right] = call.list("padding") as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [b, f, h, w, c] = x.dims as [number, number, number, number, number];
  const dims = [b, f + front + back, grow * h + top + bottom, grow * w + left + right, c];
  return plain(dims, (i, frame, row, column, channel) => {
    const [y, z, u] = [frame - front, row - top, column - left];
    if (y < 0 || y >= f || z < 0 || z >= grow * h || u < 0 || u >= grow * w) return 0;
    return x.data[(((i * f + y) * h + Math.floor(z / grow)) * w + Math.floor(u / grow)) * c + channel]!;
  });
}

/** The sums of a convolution, a correlation without zeros over the framed clip: [B,G,P,Q,K]. */
export function convolution(call: PlainCall): Plain {
  const x = framed(call);
  const weight = call.operand("weight");
  const [K, C, T, R, S] = weight.dims as [number, number, number, number, number];
  const [b, F, H, W] = x.dims as [number, number, number, number];
  const [df, dh, dw] = call.list("stride") as [number, number, number];
  const steps = (size: number, kernel: number, step: number) => Math.floor((size - kernel) / step) + 1;
  return plain([b, steps(F, T, df), steps(H, R, dh), steps(W, S, dw), K], (i, g, p, q, k) => {
    let sum = 0;
    for (let t = 0; t < T; t++)
      for (let r = 0; r < R; r++)
        for (let s = 0; s < S; s++) {
          const pixel = (((i * F + g * df + t) * H + p * dh + r) * W + q * dw + s) * C;
          for (let c = 0; c < C; c++) sum += x.data[pixel + c]! * weight.data[(((k * C + c) * T + t) * R + r) * S + s]!;
        }
    return sum;
  });
}
