import { at, type Plain, type PlainCall, type PlainResults, plain } from "../plain";

type Five = [number, number, number, number, number];

/** Blocks of pixels into channels: channel = c · volume + position in the block. */
export function spaceToDepth(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [t, h, w] = call.list("block") as [number, number, number];
  const [B, F, H, W, C] = x.dims as Five;
  const volume = t * h * w;
  const y = plain([B, F / t, H / h, W / w, C * volume], (b, f, p, q, channel) => {
    const place = channel % volume;
    const [dt, dy, dx] = [Math.floor(place / (h * w)), Math.floor(place / w) % h, place % w];
    return at(x, b, f * t + dt, p * h + dy, q * w + dx, Math.floor(channel / volume));
  });
  return { y };
}

/** Channels into blocks of pixels, by scattering every element of x. */
export function depthToSpace(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [t, h, w] = call.list("block") as [number, number, number];
  const [B, F, H, W, all] = x.dims as Five;
  const C = all / (t * h * w);
  const y: Plain = { dims: [B, F * t, H * h, W * w, C], data: new Float64Array(x.data.length) };
  x.data.forEach((value, i) => {
    const channel = i % all;
    const pixel = Math.floor(i / all);
    const [b, f, p, q] = [
      Math.floor(pixel / (F * H * W)),
      Math.floor(pixel / (H * W)) % F,
      Math.floor(pixel / W) % H,
      pixel % W,
    ];
    const last = call.word("order") === "channels_last";
    // channels_first: [c][dt][dy][dx]; channels_last: [dy][dx][dt][c].
    const dt = last ? Math.floor(channel / C) % t : Math.floor(channel / (h * w)) % t;
    const dy = last ? Math.floor(channel / (w * t * C)) : Math.floor(channel / w) % h;
    const dx = last ? Math.floor(channel / (t * C)) % w : channel % w;
    const c = last ? channel % C : Math.floor(channel / (t * h * w));
    y.data[(((b * F * t + f * t + dt) * H * h + p * h + dy) * W * w + q * w + dx) * C + c] = value;
  });
  return { y };
}

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
export function resize(call: PlainCall): PlainResults {
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
