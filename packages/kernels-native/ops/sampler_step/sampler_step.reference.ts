import { at, type Plain, type PlainCall, type PlainResults, plain } from "../../contract/reference";

const flat = (dims: readonly number[], index: readonly number[]) =>
  dims.reduce((sum, dim, d) => sum * dim + index[d]!, 0);

const WORD = 0xffffffffn;

/** Philox4x32-10 of a counter of 128 bits and a key of 64; the four words of the result, lowest first. */
function philox(counter: bigint, key: bigint): bigint[] {
  let c = [0n, 32n, 64n, 96n].map((shift) => (counter >> shift) & WORD);
  for (let round = 0n; round < 10n; round++) {
    const keys = [(key & WORD) + round * 0x9e3779b9n, (key >> 32n) + round * 0xbb67ae85n];
    const [even, odd] = [0xd2511f53n * c[0]!, 0xcd9e8d57n * c[2]!];
    c = [(odd >> 32n) ^ c[1]! ^ keys[0]!, odd, (even >> 32n) ^ c[3]! ^ keys[1]!, even].map((word) => word & WORD);
  }
  return c;
}

/** The unit normal that torch.randn gives element `i` on a GPU. words: seed and engine calls; its uniforms are float32. */
function torchNormal(words: Float64Array, i: number, lanes: number): number {
  const [seed, calls] = [0, 2].map((w) => (BigInt(words[w + 1]!) << 32n) | (BigInt(words[w]!) & WORD)) as [
    bigint,
    bigint,
  ];
  const turn = Math.floor(i / lanes);
  const call = calls + BigInt(Math.floor(turn / 4));
  const drawn = philox((BigInt(i % lanes) << 64n) | (call & 0xffffffffffffffffn), seed & 0xffffffffffffffffn);
  const [first, second] = drawn.slice(turn % 4 < 2 ? 0 : 2).map(Number) as [number, number];
  const radius = Math.fround((Math.fround(first) + 0.5) * 2 ** -32);
  const angle = Math.fround((Math.fround(second) + 0.5) * Math.fround(2 * Math.PI * 2 ** -32));
  return Math.sqrt(-2 * Math.log(radius)) * (turn % 2 === 0 ? Math.sin(angle) : Math.cos(angle));
}

/** The clip's noise, given or drawn for the planes [F,C,H,W], or none. */
function unitNoise(call: PlainCall, [, F, H, W, C]: readonly number[]): Plain | undefined {
  const words = call.optional("philox");
  if (!words) return call.optional("noise");
  const order = [F!, C!, H!, W!];
  return plain([1, F!, H!, W!, C!], (_, f, h, w, c) =>
    torchNormal(words.data, flat(order, [f!, c!, h!, w!]), call.number("lanes")),
  );
}

/** The divisor of dynamic thresholding; the quantile's rank is rounded to float32. */
function thresholdScale(call: PlainCall, data: Plain): number {
  const sorted = data.data.map(Math.abs).sort();
  const rank = Math.fround(Math.fround(call.number("quantile")) * (sorted.length - 1));
  const below = sorted[Math.floor(rank)]!;
  const quantile = below + (rank % 1) * (sorted[Math.ceil(rank)]! - below);
  return Math.min(Math.max(quantile, 1), call.number("maxValue"));
}

function bounded(call: PlainCall, data: Plain): Plain {
  const kind = call.word("bounds");
  if (kind === "none") return data;
  const scale = kind === "threshold" ? thresholdScale(call, data) : 1;
  const limit = kind === "threshold" ? scale : call.number("clipRange");
  return plain(data.dims, (...index) => Math.min(Math.max(at(data, ...index), -limit), limit) / scale);
}

/** Moves the pixels that differ little towards `previous`. */
function blended(call: PlainCall, data: Plain): Plain {
  const [previous, blend] = [call.optional("previous"), call.optional("blend")];
  if (!previous || !blend) return data;
  const [weight, threshold] = blend.data as unknown as [number, number];
  const channels = Array.from({ length: data.dims[4]! }, (_, c) => c);
  return plain(data.dims, (b, f, h, w, c) => {
    const apart = (k: number) => Math.abs(at(data, b!, f!, h!, w!, k) - at(previous, b!, f!, h!, w!, k));
    const share = channels.every((k) => apart(k) <= threshold) ? weight : 0;
    return (1 - share) * at(data, b!, f!, h!, w!, c!) + share * at(previous, b!, f!, h!, w!, c!);
  });
}

/** What the denoiser gets next: the sample times the input's scale, and the picture's channels behind it where there is one. */
function nextInput(call: PlainCall, next: Plain, rows: number): Plain {
  const [image, scale] = [call.optional("image"), call.optional("inputScale")];
  const [, F, H, W, C] = next.dims as [number, number, number, number, number];
  return plain([rows, F, H, W, C + (image?.dims[4] ?? 0)], (row, f, h, w, c) => {
    if (c! < C) return (scale?.data[0] ?? 1) * at(next, 0, f!, h!, w!, c!);
    return row === rows - 1 ? at(image!, 0, 0, h!, w!, c! - C) : 0;
  });
}

/** The tensors of a sampler's step, each written as a sum over the coefficients' columns. */
export default function samplerStep(call: PlainCall): PlainResults {
  const [prediction, x, table] = [call.operand("prediction"), call.operand("x"), call.operand("coefficients")];
  const [guidance, history] = ["guidance", "history"].map((name) => call.optional(name));
  const noise = unitNoise(call, x.dims);
  const count = call.number("numHistory");
  const frame = x.dims.slice(1);
  const combined = (row: number, index: readonly number[], data?: Plain) => {
    const [first, second] = [at(prediction, 0, ...index), at(prediction, 1, ...index)];
    const scale = guidance ? guidance.data[index[0]!]! : 0;
    const terms = [at(x, 0, ...index), (1 - scale) * first + scale * second, noise ? at(noise, 0, ...index) : 0];
    for (let h = 0; h < count; h++) terms.push(history!.data[h * x.data.length + flat(frame, index)]!);
    if (data) terms.push(at(data, 0, ...index));
    return terms.reduce((sum, term, k) => sum + at(table, row, k) * term, 0);
  };
  const hasData = table.dims[0]! > count + 2;
  const raw = hasData ? plain(x.dims, (_, ...index) => combined(2 + count, index)) : undefined;
  const data = raw && blended(call, bounded(call, raw));
  const next = plain(x.dims, (_, ...index) => combined(0, index, data));
  return {
    next,
    denoised: plain(x.dims, (_, ...index) => combined(1, index, data)),
    nextHistory: plain([count, ...frame], (h, ...index) => combined(2 + h!, index, data)),
    input: nextInput(call, next, prediction.dims[0]!),
  };
}
