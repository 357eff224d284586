import { at, type Plain, type PlainCall, type PlainResults, plain } from "../plain";
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

/** The tensors of a sampler's step, each written as a sum over the coefficients' columns. */
export function samplerStep(call: PlainCall): PlainResults {
  const [prediction, x, table] = [call.operand("prediction"), call.operand("x"), call.operand("coefficients").data];
  const [guidance, noise, history] = ["guidance", "noise", "history"].map((name) => call.optional(name));
  const count = call.number("numHistory");
  const frame = x.dims.slice(1);
  const combined = (row: number, index: readonly number[]) => {
    const [first, second] = [at(prediction, 0, ...index), at(prediction, 1, ...index)];
    const scale = guidance ? guidance.data[index[0]!]! : 0;
    const terms = [at(x, 0, ...index), (1 - scale) * first + scale * second, noise ? at(noise, 0, ...index) : 0];
    for (let h = 0; h < count; h++) terms.push(history!.data[h * x.data.length + flat(frame, index)]!);
    return terms.reduce((sum, term, k) => sum + table[row * (count + 3) + k]! * term, 0);
  };
  const next = plain(x.dims, (_, ...index) => combined(0, index));
  return {
    next,
    denoised: plain(x.dims, (_, ...index) => combined(1, index)),
    nextHistory: plain([count, ...frame], (h, ...index) => combined(2 + h, index)),
    ...nextInput(call, next, prediction.dims[0]!),
  };
}

const flat = (dims: readonly number[], index: readonly number[]) =>
  dims.reduce((sum, dim, d) => sum * dim + index[d]!, 0);

/** What the denoiser gets next, where there is a picture. */
function nextInput(call: PlainCall, next: Plain, rows: number): PlainResults {
  const [image, scale] = [call.optional("image"), call.optional("inputScale")];
  if (!image || !scale) return {};
  const [, F, H, W, C] = next.dims as [number, number, number, number, number];
  const input = plain([rows, F, H, W, C + image.dims[4]!], (row, f, h, w, c) => {
    if (c < C) return scale.data[0]! * at(next, 0, f, h, w, c);
    return row === rows - 1 ? at(image, 0, 0, h, w, c - C) : 0;
  });
  return { input };
}

export function framesOut(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const halfToEven = (v: number) => (v % 1 === 0.5 ? 2 * Math.round(v / 2) : Math.round(v));
  const y = plain(x.dims, (...index) => halfToEven(255 * Math.min(Math.max((1 + at(x, ...index)) / 2, 0), 1)));
  return { y };
}
