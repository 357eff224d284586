import { allocateBuffer } from "@vd/kernels-native";
import { channelRange, elementwise, type Graph, makeStorage, packedTensor, reshape, type Tensor } from "@vd/tensor";
import type { PortShape } from "../../src/index";
import { numbers } from "./compare";

/** A recording over inputs of the given dimensions; constants are made in it. */
interface Case {
  inputs: Record<string, PortShape>;
  row(g: Graph, inputs: Record<string, Tensor>): Tensor;
}

/** A weight of `dims` without a pattern. */
export const weight = (g: Graph, dims: readonly number[], seed: number) => {
  const count = dims.reduce((a, b) => a * b, 1);
  return g.constant(
    numbers(count, seed).map((value) => value * 0.3),
    dims,
  );
};

/** Whole numbers as a constant: offsets of packed sequences, or a mask that forbids where it is 0. */
function whole(values: readonly number[], dims: readonly number[], dtype: "i32" | "u8"): Tensor {
  const data = dtype === "i32" ? Int32Array.from(values) : Uint8Array.from(values);
  const buffer = allocateBuffer(data.byteLength);
  buffer.writeSync(data);
  return packedTensor(makeStorage("weights", data.byteLength, "whole", { buffer, byteOffset: 0 }), dims, dtype);
}

/** A mask in which every third key is hidden, and all keys of the first query. */
const hiding = (dims: readonly [number, number, number, number]) => {
  const count = dims.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: count }, (_, i) => Number(i % 3 !== 0 && (dims[2] === 1 || i >= dims[3])));
  return whole(values, dims, "u8");
};

export const clip: PortShape = [2, 3, 4, 6, 8];
const sameAsResult = { x: clip, a: clip, b: clip };

/** Rows by what is exported of them. */
export const ROW_CASES: Record<string, Case> = {
  "conv over pictures, everything behind it": {
    inputs: { ...sameAsResult, bias: [2, 3, 8] },
    row: (g, { x, a, b, bias }) =>
      g.conv({
        ...{ x: x!, weight: weight(g, [8, 8, 1, 3, 3], 2), bias: weight(g, [8], 3), frameBias: bias },
        ...{ padding: [0, 0, 1, 1, 1, 1], act: "silu", outScale: 0.7, name: "c" },
        ...{ residual: a, residualScale: 0.5, residual2: b, residual2Scale: -2 },
      }),
  },
  "conv over time, a bias per clip": {
    inputs: { x: clip, bias: [2, 1, 8] },
    row: (g, { x, bias }) =>
      g.conv({ name: "c", x: x!, weight: weight(g, [8, 8, 3, 1, 1], 2), frameBias: bias, padding: [1, 1, 0, 0, 0, 0] }),
  },
  "conv over time, a bias per frame": {
    inputs: { x: clip, bias: [1, 3, 8] },
    row: (g, { x, bias }) =>
      g.conv({ name: "c", x: x!, weight: weight(g, [8, 8, 3, 3, 1], 2), frameBias: bias, padding: [1, 1, 1, 1, 0, 0] }),
  },
  "conv over pictures, a bias per clip": {
    inputs: { x: clip, bias: [2, 1, 8] },
    row: (g, { x, bias }) => g.conv({ name: "c", x: x!, weight: weight(g, [8, 8, 1, 1, 1], 2), frameBias: bias }),
  },
  "conv with strides in time and a lopsided padding": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.conv({
        name: "c",
        x: x!,
        weight: weight(g, [4, 8, 2, 3, 3], 2),
        stride: [2, 2, 1],
        padding: [1, 0, 0, 1, 2, 0],
      }),
  },
  "conv behind nearest-2x": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.conv({ name: "c", x: x!, weight: weight(g, [4, 8, 1, 3, 3], 2), upsample: true, padding: [0, 0, 1, 1, 1, 1] }),
  },
  "conv over time behind nearest-2x": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.conv({ name: "c", x: x!, weight: weight(g, [4, 8, 3, 1, 1], 2), upsample: true, padding: [1, 1, 0, 0, 0, 0] }),
  },
  "conv in groups, step 2": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.conv({
        ...{ name: "c", x: x!, weight: weight(g, [4, 4, 1, 3, 3], 2), bias: weight(g, [4], 3), groups: 2 },
        ...{ stride: [1, 2, 2], padding: [0, 0, 1, 1, 1, 1] },
      }),
  },
  "conv over time, depthwise, the border frames again": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.conv({
        ...{ name: "c", x: x!, weight: weight(g, [8, 1, 3, 3, 3], 2), groups: 8, framePadding: "replicate" },
        padding: [2, 1, 1, 1, 1, 1],
      }),
  },
  "conv over time behind past frames, doubled": {
    inputs: { x: clip, past: [2, 2, 4, 6, 8] },
    row: (g, { x, past }) =>
      g.conv({
        ...{ name: "c", x: x!, past, weight: weight(g, [4, 8, 3, 3, 3], 2), upsample: true },
        ...{ framePadding: "replicate", padding: [1, 0, 1, 1, 1, 1] },
      }),
  },
  "conv of one frame's kernel behind past frames": {
    inputs: { x: clip, past: [2, 1, 4, 6, 8] },
    row: (g, { x, past }) => g.conv({ name: "c", x: x!, past, weight: weight(g, [4, 8, 1, 1, 1], 2) }),
  },
  "conv transposed": {
    inputs: { x: clip, r: [2, 3, 8, 12, 4] },
    row: (g, { x, r }) =>
      g.conv({
        ...{ name: "c", x: x!, weight: weight(g, [8, 4, 1, 4, 4], 2), bias: weight(g, [4], 3), residual: r },
        ...{ transposed: true, stride: [1, 2, 2], padding: [0, 0, 1, 1, 1, 1] },
      }),
  },
  "linear of two inputs with geglu, a bias per clip and a residual": {
    inputs: { x: [2, 3, 5, 4], y: [2, 3, 5, 6], bias: [2, 1, 16], r: [2, 3, 5, 8] },
    row: (g, { x, y, bias, r }) =>
      g.linear({ name: "l", x: x!, x2: y, weight: weight(g, [16, 10], 2), frameBias: bias, act: "geglu", residual: r }),
  },
  "linear with gelu": {
    inputs: { x: [1, 1, 5, 4] },
    row: (g, { x }) =>
      g.linear({ name: "l", x: x!, weight: weight(g, [3, 4], 2), bias: weight(g, [3], 4), act: "gelu" }),
  },
  "linear with gelu_tanh": {
    inputs: { x: [1, 1, 5, 4] },
    row: (g, { x }) => g.linear({ name: "l", x: x!, weight: weight(g, [3, 4], 2), act: "gelu_tanh" }),
  },
  "linear with quick_gelu": {
    inputs: { x: [1, 1, 5, 4] },
    row: (g, { x }) => g.linear({ name: "l", x: x!, weight: weight(g, [3, 4], 2), act: "quick_gelu" }),
  },
  "linear with relu": {
    inputs: { x: [1, 1, 5, 4] },
    row: (g, { x }) => g.linear({ name: "l", x: x!, weight: weight(g, [3, 4], 2), act: "relu" }),
  },
  "group norm per frame, of two inputs": {
    inputs: { x: clip, y: [2, 3, 4, 6, 4] },
    row: (g, { x, y }) =>
      g.groupNorm({
        ...{ name: "n", x: x!, x2: y, weight: weight(g, [12], 2), bias: weight(g, [12], 3) },
        ...{ groups: 4, eps: 1e-5, act: "silu" },
      }),
  },
  "group norm over all frames": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.groupNorm({
        ...{ name: "n", x: x!, weight: weight(g, [8], 2), bias: weight(g, [8], 3) },
        ...{ groups: 2, eps: 1e-6, joinFrames: true },
      }),
  },
  "layer norm": {
    inputs: { x: [2, 3, 5, 8] },
    row: (g, { x }) => g.layerNorm({ name: "n", x: x!, weight: weight(g, [8], 2), bias: weight(g, [8], 3), eps: 1e-5 }),
  },
  "layer norm without weight and bias, scale and shift per clip and frame": {
    inputs: { x: [2, 3, 5, 8], scale: [2, 1, 1, 8], shift: [1, 3, 1, 8] },
    row: (g, { x, scale, shift }) => g.layerNorm({ name: "n", x: x!, scale, shift, eps: 1e-6 }),
  },
  "layer norm with a weight and a shift per token": {
    inputs: { x: [2, 3, 5, 8], shift: [2, 3, 5, 8] },
    row: (g, { x, shift }) => g.layerNorm({ name: "n", x: x!, weight: weight(g, [8], 2), shift, eps: 1e-6 }),
  },
  "rms norm": {
    inputs: { x: [2, 3, 5, 8] },
    row: (g, { x }) => g.rmsNorm({ name: "n", x: x!, weight: weight(g, [8], 2), eps: 1e-6 }),
  },
  "rms norm without weight, with scale and shift": {
    inputs: { x: [2, 3, 5, 8], scale: [1, 1, 1, 8], shift: [2, 1, 1, 8] },
    row: (g, { x, scale, shift }) => g.rmsNorm({ name: "n", x: x!, scale, shift, eps: 1e-3 }),
  },
  "batch norm": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.batchNorm({
        ...{ name: "n", x: x!, mean: weight(g, [8], 2), variance: g.constant(new Float32Array(8).fill(0.7), [8]) },
        ...{ weight: weight(g, [8], 3), bias: weight(g, [8], 4), eps: 1e-5, act: "silu" },
      }),
  },
  "batch norm of statistics alone": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.batchNorm({
        ...{
          name: "n",
          x: x!,
          mean: weight(g, [8], 2),
          variance: g.constant(new Float32Array(8).fill(2), [8]),
          eps: 0.1,
        },
      }),
  },
  "linear with swiglu": {
    inputs: { x: [1, 2, 5, 4] },
    row: (g, { x }) => g.linear({ name: "l", x: x!, weight: weight(g, [6, 4], 2), act: "swiglu" }),
  },
  "an expression of four tensors, broadcast": {
    inputs: { a: [2, 3, 5, 8], b: [2, 1, 1, 8], c: [2, 3, 5, 1], d: [1, 1, 1, 1] },
    row: (g, { a, b, c, d }) =>
      elementwise(g, (e) => e.silu(e.add(e.mul(a!, e.add(1, b!)), e.max(e.mul(c!, d!), e.neg(0.5))))),
  },
  "every function of an expression": {
    inputs: { a: [2, 3, 5, 8] },
    row: (g, { a }) => {
      const positive = elementwise(g, (e) => e.add(e.square(a!), e.exp(e.abs(a!))));
      const roots = elementwise(g, (e) => e.sub(e.sqrt(positive), e.mul(e.rsqrt(positive), e.log(positive))));
      const waves = elementwise(g, (e) => e.div(e.tanh(roots), e.add(2, e.sigmoid(e.relu(roots)))));
      const acts = elementwise(g, (e) => e.min(e.gelu(waves), e.add(e.gelu_tanh(waves), e.quick_gelu(waves))));
      return acts;
    },
  },
  "largest numbers of windows": {
    inputs: { x: clip },
    row: (g, { x }) =>
      g.pool({ x: x!, mode: "max", kernel: [1, 3, 2], stride: [1, 2, 1], padding: [0, 0, 1, 0, 1, 1] }),
  },
  "largest numbers of windows over time": {
    inputs: { x: clip },
    row: (g, { x }) => g.pool({ x: x!, mode: "max", kernel: [2, 1, 3], stride: [1, 1, 2] }),
  },
  "averages of windows with padding and without": {
    inputs: { x: clip },
    row: (g, { x }) => {
      const window = { mode: "average", kernel: [3, 3, 3], padding: [1, 1, 1, 1, 1, 1] } as const;
      return g.pool({ ...window, x: g.pool({ ...window, x: x! }), countIncludePad: false });
    },
  },
  "attention over space": {
    inputs: { q: [2, 3, 5, 8], k: [2, 3, 7, 8], v: [2, 3, 7, 8] },
    row: (g, { q, k, v }) => g.attention({ q: q!, k: k!, v: v!, heads: 2, scale: 0.5 }),
  },
  "attention to the keys of one frame": {
    inputs: { q: [2, 3, 5, 8], k: [2, 1, 7, 8], v: [2, 1, 7, 8] },
    row: (g, { q, k, v }) => g.attention({ q: q!, k: k!, v: v!, heads: 4, scale: 0.5 }),
  },
  "attention over time": {
    inputs: { q: [2, 3, 5, 8], k: [2, 4, 5, 8], v: [2, 4, 5, 8] },
    row: (g, { q, k, v }) => g.attention({ q: q!, k: k!, v: v!, axis: "time", heads: 2, scale: 0.5 }),
  },
  "attention with a mask": {
    inputs: { q: [2, 1, 5, 8], k: [2, 1, 7, 8], v: [2, 1, 7, 8], mask: [1, 2, 5, 7] },
    row: (g, { q, k, v, mask }) => g.attention({ q: q!, k: k!, v: v!, mask, heads: 2, scale: 0.5 }),
  },
  "attention with a mask of all queries, over frames": {
    inputs: { q: [2, 3, 5, 8], k: [2, 3, 7, 8], v: [2, 3, 7, 8], mask: [1, 2, 1, 7] },
    row: (g, { q, k, v, mask }) => g.attention({ q: q!, k: k!, v: v!, mask, heads: 2, scale: 0.5 }),
  },
  "attention over time with a mask, causal": {
    inputs: { q: [2, 3, 5, 8], k: [2, 4, 5, 8], v: [2, 4, 5, 8], mask: [2, 1, 3, 4] },
    row: (g, { q, k, v, mask }) =>
      g.attention({ q: q!, k: k!, v: v!, mask, axis: "time", heads: 2, scale: 0.5, causal: true }),
  },
  "attention with a mask of zeros that hides every key of a query": {
    inputs: { q: [2, 3, 5, 8], k: [2, 3, 7, 8], v: [2, 3, 7, 8] },
    row: (g, { q, k, v }) => g.attention({ q: q!, k: k!, v: v!, mask: hiding([1, 1, 5, 7]), heads: 2, scale: 0.5 }),
  },
  "attention of packed sequences": {
    inputs: { q: [2, 2, 9, 8], k: [2, 2, 7, 8], v: [2, 2, 7, 8] },
    row: (g, { q, k, v }) =>
      g.attention({
        ...{ q: q!, k: k!, v: v!, heads: 2, scale: 0.5 },
        ...{ cuQ: whole([1, 4, 4, 8], [4], "i32"), cuK: whole([0, 2, 4, 6], [4], "i32") },
      }),
  },
  "causal attention of packed sequences over time, with a mask of zeros": {
    inputs: { q: [1, 6, 5, 8], k: [1, 6, 5, 8], v: [1, 6, 5, 8] },
    row: (g, { q, k, v }) =>
      g.attention({
        ...{ q: q!, k: k!, v: v!, axis: "time", heads: 2, scale: 0.5, causal: true, mask: hiding([1, 2, 1, 6]) },
        ...{ cuQ: whole([0, 2, 6], [3], "i32"), cuK: whole([0, 3, 6], [3], "i32") },
      }),
  },
  "attention of heads that are normalised and rotated, adjacent channels": {
    inputs: { q: [2, 3, 5, 12], k: [2, 3, 7, 12], v: [2, 3, 7, 12], turnQ: [5, 4], turnK: [7, 4] },
    row: (g, { q, k, v, turnQ, turnK }) =>
      g.attention({
        ...{ name: "a", q: q!, k: k!, v: v!, heads: 2, scale: 0.5, rotaryQ: turnQ!, rotaryK: turnK! },
        ...{ normQ: weight(g, [6], 2), normK: weight(g, [6], 3), normEps: 1e-3 },
      }),
  },
  "attention over time, rotated halves, normalised queries": {
    inputs: { q: [2, 3, 5, 8], k: [2, 4, 5, 8], v: [2, 4, 5, 8], turnQ: [3, 4], turnK: [4, 4] },
    row: (g, { q, k, v, turnQ, turnK }) =>
      g.attention({
        ...{ name: "a", q: q!, k: k!, v: v!, axis: "time", heads: 2, scale: 0.5 },
        ...{ rotaryQ: turnQ!, rotaryK: turnK!, pairs: "halves", normQ: weight(g, [4], 2) },
      }),
  },
  "rotated attention to the keys of one frame": {
    inputs: { q: [2, 3, 5, 8], k: [2, 1, 7, 8], v: [2, 1, 7, 8], turnQ: [5, 2], turnK: [7, 2] },
    row: (g, { q, k, v, turnQ, turnK }) =>
      g.attention({ q: q!, k: k!, v: v!, heads: 2, scale: 0.5, rotaryQ: turnQ!, rotaryK: turnK! }),
  },
  "causal attention": {
    inputs: { q: [2, 3, 5, 8], k: [2, 3, 7, 8], v: [2, 3, 7, 8] },
    row: (g, { q, k, v }) => g.attention({ q: q!, k: k!, v: v!, heads: 2, scale: 0.5, causal: true }),
  },
  "attention in a box": {
    inputs: { q: [1, 1, 24, 8], k: [1, 1, 24, 8], v: [1, 1, 24, 8] },
    row: (g, { q, k, v }) =>
      g.attention({ q: q!, k: k!, v: v!, heads: 2, scale: 0.5, window: [2, 1, 2], grid: [2, 3] }),
  },
  "pointwise of three, with a bias per frame": {
    inputs: { a: [2, 3, 5, 8], b: [2, 3, 5, 8], c: [2, 3, 5, 8], bias: [1, 3, 8] },
    row: (g, { a, b, c, bias }) => g.pointwise({ a: a!, b, c, frameBias: bias, aScale: 2, bScale: -0.5, act: "silu" }),
  },
  "nearest to another size": {
    inputs: { x: clip },
    row: (g, { x }) => g.resize({ x: x!, height: 7, width: 9 }),
  },
  "bilinear to another size": {
    inputs: { x: clip },
    row: (g, { x }) => g.resize({ x: x!, height: 7, width: 4, mode: "bilinear" }),
  },
  "bicubic with aligned corners": {
    inputs: { x: clip },
    row: (g, { x }) => g.resize({ x: x!, height: 7, width: 9, mode: "bicubic", alignCorners: true }),
  },
  "channels into space, channels first": {
    inputs: { x: [1, 2, 3, 4, 24] },
    row: (g, { x }) => g.depthToSpace({ x: x!, block: [2, 2, 3] }),
  },
  "channels into space, channels last": {
    inputs: { x: [1, 2, 3, 4, 24] },
    row: (g, { x }) => g.depthToSpace({ x: x!, block: [2, 2, 3], order: "channels_last" }),
  },
  "space into channels": {
    inputs: { x: [1, 4, 6, 8, 3] },
    row: (g, { x }) => g.spaceToDepth({ x: x!, block: [2, 3, 2] }),
  },
  "timestep embedding": {
    inputs: { t: [2, 3] },
    row: (g, { t }) => g.timestepEmbedding({ t: t!, width: 16 }),
  },
  "class token and positions": {
    inputs: { x: [2, 1, 6, 8] },
    row: (g, { x }) => g.tokenEmbed({ name: "e", x: x!, token: weight(g, [8], 2), position: weight(g, [7, 8], 3) }),
  },
  "the denoiser's input with two rows": {
    inputs: { x: [1, 3, 4, 6, 4], i: [1, 1, 4, 6, 4], s: [1] },
    row: (g, { x, i, s }) => g.denoiseInput({ latents: x!, image: i!, inputScale: s!, rows: 2 }),
  },
  "the denoiser's input with one row": {
    inputs: { x: [1, 3, 4, 6, 4], i: [1, 1, 4, 6, 4], s: [1] },
    row: (g, { x, i, s }) => g.denoiseInput({ latents: x!, image: i!, inputScale: s!, rows: 1 }),
  },
  "guidance per frame": {
    inputs: { x: [2, 3, 4, 6, 4], s: [3] },
    row: (g, { x, s }) => g.guide({ x: x!, scale: s! }),
  },
  "planes in and out with scale and shift": {
    inputs: { x: [2, 3, 4, 6, 8] },
    row: (g, { x }) => g.layoutOut({ x: g.layoutIn({ x: x!, scale: 2, shift: -0.5 }), scale: 0.5, shift: 3 }),
  },
  "results side by side in one tensor, read whole and in part": {
    inputs: { x: [1, 2, 5, 4], y: [1, 2, 5, 6] },
    row: (g, { x, y }) => {
      const both = g.empty([1, 2, 5, 10]);
      g.copy({ x: x!, out: channelRange(both, 0, 4) });
      g.copy({ x: y!, out: channelRange(both, 4, 10) });
      const middle = g.copy({ x: channelRange(y!, 2, 6) });
      return g.linear({ name: "l", x: both, x2: middle, weight: weight(g, [3, 14], 2) });
    },
  },
  "frames behind each other in one tensor, read whole and one alone": {
    inputs: { x: [1, 2, 5, 4], y: [1, 1, 5, 4] },
    row: (g, { x, y }) => {
      const all = g.empty([1, 3, 5, 4]);
      const frames = (begin: number, count: number) => ({
        ...all,
        dims: [1, count, 5, 4],
        byteOffset: begin * 5 * 4 * 4,
      });
      g.copy({ x: x!, out: frames(0, 2) });
      g.copy({ x: y!, out: frames(2, 1) });
      return g.pointwise({ a: g.copy({ x: all }), b: reshape(g.copy({ x: all }), [1, 3, 5, 4]) });
    },
  },
};
