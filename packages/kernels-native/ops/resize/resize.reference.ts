import { type PlainCall, type PlainResults, plain } from "../../contract/reference";

type Five = [number, number, number, number, number];

/** Keys' cubic convolution kernel with A = −0.75. */
function cubic(x: number): number {
  const [A, z] = [-0.75, Math.abs(x)];
  if (z <= 1) return (A + 2) * z ** 3 - (A + 3) * z ** 2 + 1;
  return z < 2 ? A * z ** 3 - 5 * A * z ** 2 + 8 * A * z - 4 * A : 0;
}

const KERNELS: Readonly<Record<string, (x: number) => number>> = {
  bilinear: (x) => Math.max(0, 1 - Math.abs(x)),
  bicubic: cubic,
};

/** What every source index weighs in output `i`, edges repeated. Positions are rounded to float32 as the source does. */
function weights(i: number, from: number, to: number, mode: string, corners: boolean): Float64Array {
  const result = new Float64Array(from);
  if (mode === "nearest") {
    result[Math.min(from - 1, Math.floor(Math.fround(i * Math.fround(from / to))))] = 1;
    return result;
  }
  const step = Math.fround(corners ? (to > 1 ? (from - 1) / (to - 1) : 0) : from / to);
  const centre = Math.fround(corners ? step * i : Math.fround(step * Math.fround(i + 0.5)) - 0.5);
  const position = mode === "bilinear" ? Math.max(0, centre) : centre;
  for (let source = Math.floor(position) - 1; source <= Math.floor(position) + 2; source++)
    result[Math.min(from - 1, Math.max(0, source))]! += KERNELS[mode]!(position - source);
  return result;
}

/** resize as the product with one weight matrix per axis. */
export default function resize(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [B, F, H, W, C] = x.dims as Five;
  const [P, Q] = [call.number("height"), call.number("width")];
  const axis = (from: number, to: number) =>
    Array.from({ length: to }, (_, i) => weights(i, from, to, call.word("mode"), call.flag("alignCorners")));
  const [rows, columns] = [axis(H, P), axis(W, Q)];
  const y = plain([B, F, P, Q, C], (b, f, p, q, c) => {
    let sum = 0;
    for (let h = 0; h < H; h++)
      if (rows[p]![h] !== 0)
        for (let w = 0; w < W; w++)
          sum += rows[p]![h]! * columns[q]![w]! * x.data[(((b * F + f) * H + h) * W + w) * C + c]!;
    return sum;
  });
  return { y };
}
