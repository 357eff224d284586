import type { Plain, PlainCall, PlainResults } from "../../contract/reference";

type Five = [number, number, number, number, number];

/** Channels into blocks of pixels, by scattering every element of x. */
export default function depthToSpace(call: PlainCall): PlainResults {
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
