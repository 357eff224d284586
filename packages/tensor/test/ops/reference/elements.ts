import { at, type PlainCall, type PlainResults, plain } from "../plain";
import { ACTIVATE } from "./scalar";

export function copy(call: PlainCall): PlainResults {
  return { y: call.operand("x") };
}

export function pointwise(call: PlainCall): PlainResults {
  const [a, b, c, frameBias] = [call.operand("a"), ...["b", "c", "frameBias"].map((name) => call.optional(name))];
  const act = ACTIVATE[call.word("act")]!;
  const y = plain(a!.dims, (i, f, s, k) => {
    const product = b ? call.number("bScale") * at(b, i, f, s, k) * (c ? at(c, i, f, s, k) : 1) : 0;
    return act(call.number("aScale") * at(a!, i, f, s, k) + product + (frameBias ? at(frameBias, i, f, k) : 0));
  });
  return { y };
}

export function layoutIn(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [B, F, C, H, W] = x.dims as [number, number, number, number, number];
  const y = plain(
    [B, F, H, W, C],
    (b, f, h, w, c) => call.number("scale") * at(x, b, f, c, h, w) + call.number("shift"),
  );
  return { y };
}

export function layoutOut(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [B, F, H, W, C] = x.dims as [number, number, number, number, number];
  const y = plain(
    [B, F, C, H, W],
    (b, f, c, h, w) => call.number("scale") * at(x, b, f, h, w, c) + call.number("shift"),
  );
  return { y };
}

export function guide(call: PlainCall): PlainResults {
  const [x, scale] = [call.operand("x"), call.operand("scale").data];
  const y = plain([1, ...x.dims.slice(1)], (_, f, h, w, c) => {
    const [unconditional, conditional] = [at(x, 0, f, h, w, c), at(x, 1, f, h, w, c)];
    return (1 - scale[f]!) * unconditional + scale[f]! * conditional;
  });
  return { y };
}

export function denoiseInput(call: PlainCall): PlainResults {
  const [latents, image] = [call.operand("latents"), call.operand("image")];
  const [, F, H, W, C] = latents.dims as [number, number, number, number, number];
  const [rows, scale] = [call.number("rows"), call.operand("inputScale").data[0]!];
  const y = plain([rows, F, H, W, C + image.dims[4]!], (row, f, h, w, c) => {
    if (c < C) return latents.data[((f * H + h) * W + w) * C + c]! * scale;
    return row === rows - 1 ? image.data[(h * W + w) * image.dims[4]! + c - C]! : 0;
  });
  return { y };
}

export function tokenEmbed(call: PlainCall): PlainResults {
  const [x, token, position] = [call.operand("x"), call.operand("token").data, call.operand("position")];
  const [B, F, S, C] = x.dims as [number, number, number, number];
  const y = plain([B, F, S + 1, C], (b, f, s, c) => {
    const value = s === 0 ? token[c]! : x.data[((b * F + f) * S + s - 1) * C + c]!;
    return value + position.data[s * C + c]!;
  });
  return { y };
}

/** Every number computed in float64, so that this shows how far float32 angles are off. */
export function timestepEmbedding(call: PlainCall): PlainResults {
  const t = call.operand("t");
  const width = call.number("width");
  const half = width / 2;
  const y = plain([...t.dims, width], (b, n, channel) => {
    const frequency = call.number("maxPeriod") ** (-(channel % half) / (half - call.number("downscaleShift")));
    const angle = t.data[b * t.dims[1]! + n]! * frequency;
    return channel < half ? Math.cos(angle) : Math.sin(angle);
  });
  return { y };
}
