import { at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

type Five = [number, number, number, number, number];

/** Blocks of pixels into channels: channel = c · volume + position in the block. */
export default function spaceToDepth(call: PlainCall): PlainResults {
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
