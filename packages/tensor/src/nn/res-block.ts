import { COUNT, FINITE, NUMBER, optional, requireArgument, wholeFrom } from "@vd/kernels-native";
import { elementwise } from "../elementwise";
import type { Graph } from "../graph";
import { type Pausable, pausable } from "../pausable";
import { channelRange, frameRange, pixels, reshape, type Tensor, tokens } from "../tensor";
import type { Weights } from "../weights/weights";
import { conv } from "./conv";
import { joinedStatistics } from "./joined-stats";
import { EPS, MAYBE, requireLayer } from "./layer";
import { linear } from "./linear";
import type { EpilogueOptions, Module, PausableModule } from "./module";
import { groupNorm, NUM_GROUPS } from "./norm";

/** Shape of a residual block. */
export interface ResBlockConfig {
  cin: number;
  cout: number;
  /** Of the group norms. */
  eps: number;
  /** Of the group norms; default {@link NUM_GROUPS}. */
  groups?: number | undefined;
  /** Channels of the time embedding; without, the block has no projection for it. */
  embChannels?: number | undefined;
  /** How the time embedding comes in: added before the second norm, or behind it as factor and summand. Default `default`, as in diffusers. */
  timeScaleShift?: "default" | "scale_shift" | undefined;
  /** Divides the sum of branch and skip; default 1. */
  outputScaleFactor?: number | undefined;
}

const RES_BLOCK = {
  ...{ cin: COUNT, cout: COUNT, eps: EPS, groups: MAYBE.count, embChannels: MAYBE.count },
  ...{ outputScaleFactor: optional(FINITE), temporalEps: MAYBE.eps, switched: MAYBE.flag },
};

/** Call-time operands of a residual block. */
export interface ResBlockCall {
  /** Time embedding after its SiLU, [B,1|F,1,E]. */
  emb?: Tensor | undefined;
  /** In place of `emb`, what {@link timeProjection} makes of it: [1|B,1|F,cout]; not for blocks of `scale_shift`. */
  timeBias?: Tensor | undefined;
  /** Skip connection: further channels after those of x, so that x and x2 have cin together. */
  x2?: Tensor | undefined;
  out?: Tensor | undefined;
}

/** A residual block's own projection of the time embedding, for callers that compute it once for many calls. w: the block's weights;
 *  emb: after its SiLU, [B,1|F,1,E] → [B,1|F,1,cout]. */
export function timeProjection(
  w: Weights,
  config: { embChannels: number; cout: number },
): Module<[emb: Tensor, epilogue?: EpilogueOptions]> {
  requireLayer("timeProjection", w, config, { embChannels: COUNT, cout: COUNT });
  return linear(w.at("time_emb_proj"), { cin: config.embChannels, cout: config.cout });
}

/** The embedding's projection as a bias per clip or frame: [B,1|F,1,E] → [B,1|F,K]. */
function embeddingBias(
  w: Weights,
  { cout, embChannels }: ResBlockConfig,
): Module<[emb: Tensor | undefined], Tensor | undefined> {
  if (embChannels === undefined) return () => undefined;
  const project = timeProjection(w, { embChannels, cout });
  return (g, emb) => {
    if (!emb) return undefined;
    const y = project(g, emb);
    return reshape(y, [y.dims[0]!, y.dims[1]!, cout]);
  };
}

/** x and x2 in one tensor, for a block that keeps the channels and still has a skip connection. */
function joined(g: Graph, name: string, x: Tensor, x2: Tensor): Tensor {
  const channels = x.dims[4]!;
  const both = g.empty([...x.dims.slice(0, 4), channels + x2.dims[4]!], x.dtype);
  g.copy({ name: `${name}.concat`, x: tokens(x), out: tokens(channelRange(both, 0, channels)) });
  g.copy({ name: `${name}.concat`, x: tokens(x2), out: tokens(channelRange(both, channels, both.pitch)) });
  return both;
}

/** What is added to the block's result: the input itself, or a 1×1 projection of it where the channels change. */
function shortcut(w: Weights, { cin, cout }: ResBlockConfig): Module<[x: Tensor, x2: Tensor | undefined]> {
  if (cin === cout) return (g, x, x2) => (x2 ? joined(g, w.path, x, x2) : x);
  const scope = w.at("conv_shortcut");
  const weight = reshape(scope.tensor("weight", [cout, cin, 1, 1]), [cout, cin]);
  const bias = scope.tensor("bias", [cout]);
  return (g, x, x2) => {
    const y = g.linear({ name: scope.path, x: tokens(x), x2: x2 && tokens(x2), weight, bias });
    return pixels(y, x.dims[2]!, x.dims[3]!);
  };
}

/** The second norm of a block whose time embedding scales and shifts it: silu(norm(h) · (1 + scale) + shift). */
function modulatedNorm(
  w: Weights,
  { cout, eps, groups, embChannels = 0 }: ResBlockConfig,
): Module<[h: Tensor, emb: Tensor | undefined]> {
  const norm = groupNorm(w.at("norm2"), { channels: cout, eps, groups: groups ?? NUM_GROUPS });
  const project = linear(w.at("time_emb_proj"), { cin: embChannels, cout: 2 * cout });
  return (g, h, emb) => {
    if (!emb) return norm(g, h, { act: "silu" });
    const both = project(g, emb);
    const [scale, shift] = [channelRange(both, 0, cout), channelRange(both, cout, 2 * cout)];
    const y = elementwise(g, (e) => e.silu(e.add(e.mul(tokens(norm(g, h)), e.add(scale, 1)), shift)), {
      name: `${w.path}.scale_shift`,
    });
    return pixels(y, h.dims[2]!, h.dims[3]!);
  };
}

/** What stands between the two convolutions, and the bias of the first: where the time embedding comes in. */
function timeParts(w: Weights, config: ResBlockConfig) {
  if (config.timeScaleShift === "scale_shift") return { bias: () => undefined, norm2: modulatedNorm(w, config) };
  const { cout, eps, groups = NUM_GROUPS } = config;
  const norm = groupNorm(w.at("norm2"), { channels: cout, eps, groups, act: "silu" });
  return { bias: embeddingBias(w, config), norm2: (g: Graph, h: Tensor) => norm(g, h) };
}

/** GroupNorm, SiLU, conv 3×3, twice, with a skip. x: [B,F,H,W,cin] → [B,F,H,W,cout].
 *  Source: huggingface/diffusers@58eb52c models/resnet.py ResnetBlock2D. */
export function resBlock(w: Weights, config: ResBlockConfig): Module<[x: Tensor, call?: ResBlockCall]> {
  requireLayer("resBlock", w, config, RES_BLOCK);
  const { cin, cout, eps, groups = NUM_GROUPS, outputScaleFactor = 1 } = config;
  const norm1 = groupNorm(w.at("norm1"), { channels: cin, eps, groups, act: "silu" });
  const conv1 = conv(w.at("conv1"), { cin, cout, kernel: [1, 3, 3] });
  const { bias, norm2 } = timeParts(w, config);
  const conv2 = conv(w.at("conv2"), { cin: cout, cout, kernel: [1, 3, 3] });
  const skip = shortcut(w, config);
  const scale = 1 / outputScaleFactor;
  return (g, x, { emb, timeBias, x2, out } = {}) => {
    const h = conv1(g, norm1(g, x, { x2 }), { frameBias: timeBias ?? bias(g, emb) });
    return conv2(g, norm2(g, h, emb), { residual: skip(g, x, x2), outScale: scale, residualScale: scale, out });
  };
}

/** Runs of frames [begin, end) that are computed one after the other to save memory. */
export type FrameChunks = readonly (readonly [begin: number, end: number])[];

/** Cuts `numFrames` into runs of at most `size`. */
export function frameChunks(numFrames: number, size: number): FrameChunks {
  requireArgument("frameChunks numFrames", numFrames, wholeFrom(0));
  requireArgument("frameChunks size", size, COUNT);
  const numChunks = Math.ceil(numFrames / size);
  return Array.from({ length: numChunks }, (_, i) => [i * size, Math.min(numFrames, (i + 1) * size)] as const);
}

/** Call-time operands of a temporal residual block. */
export interface TemporalResBlockCall {
  emb?: Tensor | undefined;
  /** Weight of the block's result against x, its input: y = x + amount · residual branch. */
  amount: number;
  /** Frames in parts, of one clip; the result is the same, bit for bit, as with one part of all frames, since convolutions get their
   *  neighbours and norms statistics of all frames. With several parts it takes the place of x. Without, norms find their statistics
   *  themselves, which differ by rounding. */
  chunks?: FrameChunks | undefined;
  /** With chunks: a place for what is between the two convolutions, of x's shape, which is then computed once instead of twice. The result takes the
   *  place of x. */
  half?: Tensor | undefined;
}

/** Norm and convolution over three frames. */
interface TemporalHalf {
  norm: ReturnType<typeof groupNorm>;
  conv: ReturnType<typeof conv>;
  path: string;
}

/** The layers of a temporal residual block. */
interface TemporalLayers {
  first: TemporalHalf;
  second: TemporalHalf;
  bias: ReturnType<typeof embeddingBias>;
  eps: number;
}

function temporalLayers(w: Weights, config: ResBlockConfig): TemporalLayers {
  const { cout: channels, eps } = config;
  const norm = (name: string) => groupNorm(w.at(name), { channels, eps, act: "silu", joinFrames: true });
  const kernel = { cin: channels, cout: channels, kernel: [3, 1, 1] as [number, number, number] };
  const half = (i: number) => ({
    norm: norm(`norm${i}`),
    conv: conv(w.at(`conv${i}`), kernel),
    path: w.at(`norm${i}`).path,
  });
  return { first: half(1), second: half(2), bias: embeddingBias(w, config), eps };
}

/** GroupNorm over all frames, SiLU, convolution over three frames, twice; added to the input by `amount`, which is a
 *  blend of input and block: α · x + (1 − α) · (x + h) = x + (1 − α) · h. x: [B,F,H,W,C] → the same shape.
 *  Source: huggingface/diffusers@58eb52c models/resnet.py TemporalResnetBlock, AlphaBlender. */
export function temporalResBlock(
  w: Weights,
  config: ResBlockConfig,
): PausableModule<[x: Tensor, call: TemporalResBlockCall]> {
  requireLayer("temporalResBlock", w, config, RES_BLOCK);
  return wholeTemporal(temporalLayers(w, config));
}

function wholeTemporal(layers: TemporalLayers): PausableModule<[x: Tensor, call: TemporalResBlockCall]> {
  const { first, second, bias, eps } = layers;
  return pausable(function* (g: Graph, x: Tensor, { emb, amount, chunks, half }: TemporalResBlockCall) {
    const frameBias = bias(g, emb);
    if (chunks && half) return yield* inPlaceOver(g, x, layers, { frameBias, amount, chunks, half });
    if (chunks && chunks.length > 1) return yield* inPlace(g, x, layers, { frameBias, amount, chunks });
    // With chunks the statistics are the same as if there were several.
    const norm = (half: TemporalHalf, y: Tensor) =>
      half.norm(g, y, chunks && { stats: joinedStatistics(g, half.path, frameStatistics(g, half, y, { eps }), eps) });
    const h = first.conv(g, norm(first, x), { frameBias });
    return second.conv(g, norm(second, h), { outScale: amount, residual: x });
  });
}

/** Statistics of a half's norm for each frame of x on its own. */
function frameStatistics(
  g: Graph,
  half: TemporalHalf,
  x: Tensor,
  { eps, out }: { eps: number; out?: Tensor | undefined },
): Tensor {
  return g.groupNormStats({ name: `${half.path}.stats`, x, groups: NUM_GROUPS, eps, out });
}

/** Operands of a temporal block that is computed in parts. */
interface InPlaceCall {
  frameBias: Tensor | undefined;
  amount: number;
  chunks: FrameChunks;
}

/** Returns what records frames [begin, end) of a half's result, from all frames of what it takes. */
function partsOfHalf(
  g: Graph,
  x: Tensor,
  half: TemporalHalf,
  stats: Tensor,
): (begin: number, end: number, call: NonNullable<ConvOptions>) => Tensor {
  return (begin, end, call) => {
    const [from, to] = [Math.max(begin - 1, 0), Math.min(end + 1, x.dims[1]!)];
    const neighbours = [from < begin, to > end] as const;
    return runOfHalf(g, half, frameRange(x, from, to), { stats, neighbours, ...call });
  };
}

/** Returns what records frames [begin, end) of x behind the first convolution. */
function firstHalf(
  g: Graph,
  x: Tensor,
  { first, eps }: TemporalLayers,
  frameBias: Tensor | undefined,
): (begin: number, end: number, out?: Tensor) => Tensor {
  const stats = joinedStatistics(g, first.path, frameStatistics(g, first, x, { eps }), eps);
  const record = partsOfHalf(g, x, first, stats);
  return (begin, end, out) => record(begin, end, { frameBias, out });
}

/** A temporal block in the place of x with a second map of all frames, `half`: nothing is computed twice. Pauses after each part. */
function* inPlaceOver(
  g: Graph,
  x: Tensor,
  layers: TemporalLayers,
  { frameBias, amount, chunks, half }: InPlaceCall & { half: Tensor },
): Pausable<Tensor> {
  const { second, eps } = layers;
  const recordFirst = firstHalf(g, x, layers, frameBias);
  yield;
  for (const [begin, end] of chunks) {
    recordFirst(begin, end, frameRange(half, begin, end));
    yield;
  }
  const stats = joinedStatistics(g, second.path, frameStatistics(g, second, half, { eps }), eps);
  const recordSecond = partsOfHalf(g, half, second, stats);
  yield;
  for (const [begin, end] of chunks) {
    const part = frameRange(x, begin, end);
    recordSecond(begin, end, { outScale: amount, residual: part, out: part });
    yield;
  }
  return x;
}

/** Frames of a window that lie in front of a part's own. */
const WINDOW_PAST = 2;

/**
 * A temporal block in the place of x, part by part, so that there is never a second map of all frames: the second norm sees the whole clip,
 * so the first half is computed once for its statistics and once more, a part at a time, for its results. Pauses after each part.
 */
function* inPlace(
  g: Graph,
  x: Tensor,
  layers: TemporalLayers,
  { frameBias, amount, chunks }: InPlaceCall,
): Pausable<Tensor> {
  const { second, eps } = layers;
  const numFrames = x.dims[1]!;
  const recordFirst = firstHalf(g, x, layers, frameBias);
  yield;
  const longest = Math.max(...chunks.map(([begin, end]) => end - begin));
  const halfStats = g.empty([1, numFrames, NUM_GROUPS, 2], "f32");
  // Without a window beside them, parts of a frame more take no more memory.
  for (const [begin, end] of frameChunks(numFrames, longest + 1)) {
    frameStatistics(g, second, recordFirst(begin, end), { eps, out: frameRange(halfStats, begin, end) });
    yield;
  }
  const stats = joinedStatistics(g, second.path, halfStats, eps);
  // Each part's second convolution sees a frame on each side. Those in front are kept, since x is written over behind them.
  const window = g.empty([1, longest + WINDOW_PAST, ...x.dims.slice(2)], x.dtype);
  for (const [begin, end] of chunks) {
    const [from, to] = [begin === 0 ? 0 : begin + 1, Math.min(end + 1, numFrames)];
    const past = Math.min(begin, 1) * WINDOW_PAST;
    if (from < to) recordFirst(from, to, frameRange(window, past, past + to - from));
    // What is kept is not normalised yet: norm and convolution stay side by side, so that kernels of both at once give every part the same bits.
    const seen = frameRange(window, 0, past + to - from);
    const part = frameRange(x, begin, end);
    const neighbours = [begin > 0, end < numFrames] as const;
    runOfHalf(g, second, seen, { stats, neighbours, outScale: amount, residual: part, out: part });
    if (end < numFrames) keepLast(g, `${second.path}.kept`, seen);
    yield;
  }
  return x;
}

/** Moves the last frames of a window to its beginning, one by one, so that none is written over before it has moved. */
function keepLast(g: Graph, name: string, seen: Tensor): void {
  const first = seen.dims[1]! - WINDOW_PAST;
  const frame = (at: number) => tokens(frameRange(seen, at, at + 1));
  for (let i = 0; first > 0 && i < WINDOW_PAST; i++) g.copy({ name, x: frame(first + i), out: frame(i) });
}

type ConvOptions = Parameters<ReturnType<typeof conv>>[2];

/** A half over a run of a clip's frames, which get no padding where their neighbours are known. */
function runOfHalf(
  g: Graph,
  { norm, conv }: TemporalHalf,
  x: Tensor,
  { stats, neighbours: [before, after], ...call }: RunStatistics & NonNullable<ConvOptions>,
): Tensor {
  return conv(g, norm(g, x, { stats }), { ...call, padding: [before ? 0 : 1, after ? 0 : 1, 0, 0, 0, 0] });
}

/** What a run of a clip's frames is told of the others. */
interface RunStatistics {
  /** Of the half's input over the whole clip, [1,1,groups,2]. */
  stats: Tensor;
  /** Whether x begins, and whether it ends, with a frame of the neighbouring run, which has no result here. */
  neighbours: readonly [before: boolean, after: boolean];
}

/** Call-time operands of half a temporal block over a run of a clip's frames. */
export interface TemporalHalfCall extends RunStatistics {
  emb?: Tensor | undefined;
  /** Of the second half: what the first half took, without frames of other runs. */
  residual?: Tensor | undefined;
  out?: Tensor | undefined;
}

/** Half a temporal block: norm, SiLU and convolution over three frames. x: [1,f,H,W,C] with the neighbours' frames → the frames
 *  of the run. */
export type TemporalHalfModule = Module<[x: Tensor, call: TemporalHalfCall]>;

function temporalHalves(
  { first, second, bias }: TemporalLayers,
  amount: number,
): [TemporalHalfModule, TemporalHalfModule] {
  return [
    (g, x, { emb, ...call }) => runOfHalf(g, first, x, { ...call, frameBias: bias(g, emb) }),
    (g, x, { emb: _, ...call }) => runOfHalf(g, second, x, { ...call, outScale: amount }),
  ];
}

/** Shape of a spatial block followed by a temporal one. */
export interface SpatioTemporalConfig extends ResBlockConfig {
  /** Default: eps. */
  temporalEps?: number;
  /** The learned factor weighs the temporal branch instead of the spatial one. */
  switched?: boolean;
}

/** The two halves of a spatio-temporal block, for callers that run them over parts of a clip. */
export interface SpatioTemporalResBlock {
  spatial: Module<[x: Tensor, call?: ResBlockCall]>;
  temporal: PausableModule<[x: Tensor, call?: Omit<TemporalResBlockCall, "amount">]>;
  /** The temporal block in its halves: each norm sees the whole clip and each convolution one frame on each side, so that runs of
   *  frames can be computed apart if they exchange those between the halves. */
  temporalHalves: readonly [TemporalHalfModule, TemporalHalfModule];
}

/** A spatial and a temporal residual block, blended by a learned factor.
 *  Source: huggingface/diffusers@58eb52c models/resnet.py SpatioTemporalResBlock. */
export function spatioTemporalResBlock(w: Weights, config: SpatioTemporalConfig): SpatioTemporalResBlock {
  requireLayer("spatioTemporalResBlock", w, config, RES_BLOCK);
  const { cout, eps, temporalEps = eps, switched = false } = config;
  const spatial = resBlock(w.at("spatial_res_block"), config);
  const layers = temporalLayers(w.at("temporal_res_block"), { ...config, cin: cout, eps: temporalEps });
  const temporal = wholeTemporal(layers);
  const factor = sigmoid(w.at("time_mixer").scalar("mix_factor"));
  const amount = switched ? factor : 1 - factor;
  return {
    spatial: (g, x, call) => {
      const y = spatial(g, x, call);
      g.tap(`${w.path}.spatial_res_block`, y);
      return y;
    },
    temporal: pausable(function* (g: Graph, x: Tensor, call: Omit<TemporalResBlockCall, "amount"> = {}) {
      g.tap(`${w.path}.temporal_res_block`, () => temporal(g, x, { emb: call.emb, amount: 1 }));
      const y = yield* temporal.inPieces(g, x, { ...call, amount });
      g.tap(w.path, y);
      return y;
    }),
    temporalHalves: temporalHalves(layers, amount),
  };
}

/** 1 / (1 + e⁻ˣ). */
export function sigmoid(x: number): number {
  requireArgument("sigmoid", x, NUMBER);
  return 1 / (1 + Math.exp(-x));
}
