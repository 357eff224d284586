import { at, beside, type Plain, type PlainCall, type PlainResults, plain } from "../plain";
import { ACTIVATE } from "./scalar";

/** Scale, activation and residuals behind a product; index: [b, f, …, k]. */
function finished(call: PlainCall, product: Plain): Plain {
  const act = ACTIVATE[call.word("act")];
  const [residual, residual2] = [call.optional("residual"), call.optional("residual2")];
  return plain(product.dims, (...index) => {
    const value = act ? act(at(product, ...index)) : at(product, ...index);
    const first = residual ? call.number("residualScale") * at(residual, ...index) : 0;
    const second = residual2 ? call.number("residual2Scale") * at(residual2, ...index) : 0;
    return call.number("outScale") * value + first + second;
  });
}

/** What is added to row `row` of the product in clip b, frame f. */
function shift(call: PlainCall, b: number, f: number, row: number): number {
  const [bias, frameBias] = [call.optional("bias"), call.optional("frameBias")];
  return (bias ? bias.data[row]! : 0) + (frameBias ? at(frameBias, b, f, row) : 0);
}

/** linear by the definition of a matrix product. */
export function linear(call: PlainCall): PlainResults {
  const x = beside(call.operand("x"), call.optional("x2"));
  const weight = call.operand("weight");
  const [b, f, s, c] = x.dims as [number, number, number, number];
  const rows = weight.dims[0]!;
  const product = plain([b, f, s, rows], (i, j, t, row) => {
    let sum = shift(call, i, j, row);
    const token = ((i * f + j) * s + t) * c;
    for (let k = 0; k < c; k++) sum += x.data[token + k]! * weight.data[row * c + k]!;
    return sum;
  });
  if (call.word("act") !== "geglu") return { y: finished(call, product) };
  const half = rows / 2;
  const gelu = ACTIVATE.gelu!;
  const gated = plain([b, f, s, half], (i, j, t, k) => at(product, i, j, t, k) * gelu(at(product, i, j, t, half + k)));
  return { y: finished(call, gated) };
}

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

/** conv as a correlation without zeros over the framed clip. */
export function conv(call: PlainCall): PlainResults {
  const x = framed(call);
  const weight = call.operand("weight");
  const [K, C, T, R, S] = weight.dims as [number, number, number, number, number];
  const [b, F, H, W] = x.dims as [number, number, number, number];
  const [df, dh, dw] = call.list("stride") as [number, number, number];
  const steps = (size: number, kernel: number, step: number) => Math.floor((size - kernel) / step) + 1;
  const product = plain([b, steps(F, T, df), steps(H, R, dh), steps(W, S, dw), K], (i, g, p, q, k) => {
    let sum = shift(call, i, g, k);
    for (let t = 0; t < T; t++)
      for (let r = 0; r < R; r++)
        for (let s = 0; s < S; s++) {
          const pixel = (((i * F + g * df + t) * H + p * dh + r) * W + q * dw + s) * C;
          for (let c = 0; c < C; c++) sum += x.data[pixel + c]! * weight.data[(((k * C + c) * T + t) * R + r) * S + s]!;
        }
    return sum;
  });
  return { y: finished(call, product) };
}
