import { countOf } from "@vd/kernels-native";
import {
  conv,
  elementBytes,
  type FrameChunks,
  frameChunks,
  frameRange,
  type Graph,
  groupNorm,
  type Module,
  normsOverFramesInside,
  type Pausable,
  type PausableModule,
  packedBytes,
  packedTensor,
  pausable,
  type SpatioTemporalResBlock,
  spatioTemporalResBlock,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import { imageAttention } from "./attention";
import type { VaeConfig } from "./config";

/** A spatial function of part of a clip; `out` is where its last op must write. */
type SpatialPart = (g: Graph, x: Tensor, out?: Tensor) => Tensor;

/** One step of the decoder: something spatial, then something over time. */
interface Stage {
  /** Its weights' path. */
  name: string;
  /** Level of the up blocks, from the latents outwards; -1 for the middle block. */
  level: number;
  spatial: SpatialPart;
  temporal: SpatioTemporalResBlock["temporal"];
  temporalHalves: SpatioTemporalResBlock["temporalHalves"];
  /** Growth of height and width, and channels of the result. */
  grow: number;
  channels: number;
  /** Channels that the spatial half works in at most for a pixel of its result, beside what it takes. */
  workChannels: number;
  /** The same where norms are inside convolutions: without what is normalised. */
  insideChannels: number;
  /** Names to keep the result under, once the stage is done. */
  tapAs?: string;
}

const TEMPORAL_EPS = 1e-5;
const stageConfig = (cin: number, cout: number) => ({
  ...{ cin, cout, eps: 1e-6, temporalEps: TEMPORAL_EPS },
  switched: true,
});

/** What comes before a stage's residual block, with the channels that it works in for a pixel of its result. */
interface Before {
  module: Module;
  workChannels: number;
}

function residualStage(w: Weights, level: number, [cin, cout]: [number, number], before?: Before, grow = 1): Stage {
  const block = spatioTemporalResBlock(w, stageConfig(cin, cout));
  const spatial: SpatialPart = (g, x, out) => block.spatial(g, before ? before.module(g, x) : x, { out });
  const { temporal, temporalHalves } = block;
  // A convolution's result beside its input or the skip connection, beside what came before.
  const ownChannels = (before ? cin : 0) + cout + Math.max(cin, cout);
  const workChannels = Math.max(ownChannels, before?.workChannels ?? 0);
  const insideChannels = (before ? cin : 0) + cout + (cin === cout ? 0 : cout);
  const sizes = { grow, channels: cout, workChannels, insideChannels };
  return { name: w.path, level, spatial, temporal, temporalHalves, ...sizes };
}

/** The middle block: attention comes before the second residual block only, so with one layer it never runs and
 *  layers beyond the second never run either, as in the reference. */
function middleStages(w: Weights, channels: number, numLayers: number): Stage[] {
  // Queries, keys and values beside the norm's or attention's result.
  const attention = { module: imageAttention(w.at("attentions.0"), channels), workChannels: 4 * channels };
  const stages = Array.from({ length: numLayers }, (_, i) =>
    residualStage(w.at("resnets").at(i), -1, [channels, channels], i === 1 ? attention : undefined),
  ).slice(0, 2);
  stages[stages.length - 1]!.tapAs = w.path;
  return stages;
}

function upStages(w: Weights, config: VaeConfig): { stages: Stage[]; channels: number } {
  const reversed = [...config.blockOutChannels].reverse();
  const stages: Stage[] = [];
  let channels = reversed[0]!;
  let upsample: Before | undefined;
  reversed.forEach((cout, level) => {
    const scope = w.at(level);
    for (let i = 0; i <= config.layersPerBlock; i++) {
      const grow = upsample ? 2 : 1;
      stages.push(residualStage(scope.at("resnets").at(i), level, [channels, cout], upsample, grow));
      channels = cout;
      upsample = undefined;
    }
    if (level < reversed.length - 1) upsample = upsampler(scope, cout);
    else stages[stages.length - 1]!.tapAs = scope.path;
  });
  return { stages, channels };
}

/** The end of the level with the weights `level`. */
function upsampler(level: Weights, channels: number): Before {
  const w = level.at("upsamplers.0");
  const grown = conv(w.at("conv"), { cin: channels, cout: channels, kernel: [1, 3, 3], upsample: true });
  const module: Module = (g, x) => {
    const y = grown(g, x);
    g.tap(w.path, y);
    g.tap(level.path, y);
    return y;
  };
  return { module, workChannels: channels };
}

/** Applies a spatial function to a clip in parts, pausing after each. y: the place of all results. */
function* inParts(
  g: Graph,
  [x, y]: [Tensor, Tensor],
  chunks: FrameChunks,
  { spatial }: Pick<Stage, "spatial">,
): Pausable<Tensor> {
  for (const [lo, hi] of chunks) {
    spatial(g, partOf(x, lo, hi), partOf(y, lo, hi));
    yield;
  }
  return y;
}

/** Frames of one clip, or all of several clips. */
const partOf = (x: Tensor, lo: number, hi: number): Tensor => (hi - lo === x.dims[1] ? x : frameRange(x, lo, hi));

/** The size of a stage's result for that of its input. */
const grownDims = ([b, f, h, w]: readonly number[], { grow, channels }: Pick<Stage, "grow" | "channels">): number[] => [
  b!,
  f!,
  h! * grow,
  w! * grow,
  channels,
];

/** The maps between the stages of one decode. */
interface Maps {
  /** What the first stage takes. */
  first: Tensor;
  /** Where a stage's result goes. */
  next(stage: Stage, x: Tensor): Tensor;
  /** A place for a second map like x, which nothing else takes meanwhile; undefined where there is none. */
  beside(x: Tensor): Tensor | undefined;
}

/** The sizes of what the first stage takes and of all stages' results. */
function sizesOf(first: readonly number[], stages: readonly Stage[]): (readonly number[])[] {
  const sizes = [first];
  for (const stage of stages) sizes.push(grownDims(sizes.at(-1)!, stage));
  return sizes;
}

/** True where no map is smaller than the one before it: its first parts would lie where that one has frames that are still to be taken. */
const neverShrinks = (sizes: readonly (readonly number[])[]): boolean =>
  sizes.every((size, i) => i === 0 || countOf(size) >= countOf(sizes[i - 1]!));

/**
 * Maps of a decode in parts that all end where the same block of memory ends: each stage's results come from the block's beginning on while
 * what it takes is used up before they reach it, so there is never more than the largest map.
 */
function mapsInPlace(g: Graph, sizes: readonly (readonly number[])[]): Maps {
  const bytesOf = (size: readonly number[]) => packedBytes(size, g.dtype);
  const largest = sizes.reduce((most, size) => (bytesOf(size) > bytesOf(most) ? size : most));
  const block = g.empty(largest);
  const atEnd = (size: readonly number[]) =>
    packedTensor(block.storage, size, g.dtype, block.storage.bytes - bytesOf(size));
  return {
    first: atEnd(sizes[0]!),
    next: (stage, x) => atEnd(grownDims(x.dims, stage)),
    beside: ({ dims: size }) =>
      2 * bytesOf(size) <= block.storage.bytes ? packedTensor(block.storage, size, g.dtype) : undefined,
  };
}

/** Maps of their own for every stage: whoever keeps some of them would find others in their place. */
function mapsApart(g: Graph, dims: readonly number[]): Maps {
  const next: Maps["next"] = (stage, x) => g.empty(grownDims(x.dims, stage), x.dtype);
  return { first: g.empty(dims), next, beside: () => undefined };
}

/** How to decode. */
export interface DecodeOptions {
  /** Frames that are computed at a time where a frame takes most memory, one clip only; fewer need less. What takes less for a frame computes more
   *  of them in the same memory. Every number gives the same bits. Default: all, with norms that find the statistics of all frames
   *  themselves, which differ by rounding. */
  chunkFrames?: number | undefined;
  /** With `chunkFrames`, for one clip: bytes that what sees no other frames had better work in at a time, so that a cache holds them.
   *  Every number gives the same bits. Default: as many as `chunkFrames` allows. */
  spatialBytes?: number | undefined;
  /** With `chunkFrames`: whether the graph's calls are recorded with norms inside convolutions (`normedConvolutions`), so that parts need no
   *  room for what is normalised and may be longer. Every choice gives the same bits. Default: false. */
  fusedNorm?: boolean | undefined;
}

/** How to decode the beginning. */
export interface DecodeHeadOptions extends DecodeOptions {
  /** Blocks that are computed, those of the middle first. */
  numBlocks: number;
}

/** A block of the decoder in two halves: the first sees whole pictures and no other frames, the second sees all frames and
 *  no other pixels, but for statistics of its norms. So the one can be computed over some frames at a time, the other over
 *  parts of the pictures. */
export interface DecoderBlock {
  /** Its weights' path. */
  name: string;
  /** Level of the up blocks that it belongs to, from the latents outwards; -1 for the middle. */
  level: number;
  /** Growth of height and width, channels of what it takes and of its result. */
  grow: number;
  cin: number;
  channels: number;
  /** Of the second half's norms. */
  temporalEps: number;
  /** x: [1,F,h,w,cin] → [1,F,H,W,channels]. */
  spatial: Module<[x: Tensor, out?: Tensor]>;
  /** x: [1,F,H,W,channels] → the same shape. */
  temporal: PausableModule;
  /** The second half in two steps, for runs of frames that are computed apart. */
  temporalHalves: SpatioTemporalResBlock["temporalHalves"];
}

/** Whether a run of frames begins, and whether it ends, with a frame of the neighbouring run. */
export type RunNeighbours = readonly [before: boolean, after: boolean];

/** The layers behind the last block, in two halves as a block; the second takes runs of frames too, with the frames of neighbouring runs
 *  that it needs. */
export type DecoderEnd = Pick<DecoderBlock, "cin" | "channels" | "spatial"> & {
  temporal: Module<[x: Tensor, neighbours?: RunNeighbours]>;
};

/** The decoder, whole and in parts. */
export interface Decoder {
  /** Latents (already divided by the scaling factor) to frames in about [-1,1], with all frames seeing their neighbours
   *  whatever the chunk size. z: [B,F,h,w,latentChannels] → [B,F,H,W,3]. */
  decode: PausableModule<[z: Tensor, options?: DecodeOptions]>;
  /** The first blocks. z: as for `decode` → what the next block takes. */
  decodeHead: PausableModule<[z: Tensor, options: DecodeHeadOptions]>;
  blocks: readonly DecoderBlock[];
  end: DecoderEnd;
}

/** Into which parts the stages cut a clip. */
interface Cut {
  /** Elements that a part may work in beside the maps; no limit for all frames at once. */
  room: number;
  /** Elements that parts that see no other frames had better work in. */
  cached: number;
  /** Of `room`, what spatial halves take where their norms are inside convolutions; undefined where they are not. */
  insideRoom?: number | undefined;
}

/** How the stages cut the clip z; undefined where each has a norm of its own over all of it. */
function cutOf(z: Tensor, options: DecodeOptions, stages: readonly Stage[]): Cut | undefined {
  const { chunkFrames, spatialBytes = Number.POSITIVE_INFINITY, fusedNorm = false } = options;
  const [batch, numFrames] = z.dims as [number, number];
  if (chunkFrames === undefined) return undefined;
  const all = Number.POSITIVE_INFINITY;
  if (batch !== 1) return { room: all, cached: all };
  const cached = spatialBytes / elementBytes(z.dtype);
  if (chunkFrames >= numFrames) return { room: all, cached };
  const [, ...results] = sizesOf(z.dims, stages);
  const roomFor = (channels: "workChannels" | "insideChannels") =>
    chunkFrames * Math.max(1, ...results.map((dims, i) => workOf(dims, stages[i]![channels])));
  return { room: roomFor("workChannels"), cached, insideRoom: fusedNorm ? roomFor("insideChannels") : undefined };
}

/** Elements of `channels` for each pixel of a frame of dims [B,F,H,W,C]. */
const workOf = ([, , height, width]: readonly number[], channels: number): number => height! * width! * channels;

/** Parts of at most `size` frames, as even as can be. */
const evenChunks = (numFrames: number, size: number): FrameChunks =>
  frameChunks(numFrames, Math.ceil(numFrames / Math.ceil(numFrames / Math.max(Math.min(size, numFrames), 1))));

/** Most parts that a cache is worth: a part takes rows of its own. */
const MOST_CACHED_PARTS = 32;

/** The parts of a spatial half with a result of `dims`. */
function spatialParts(cut: Cut | undefined, dims: readonly number[], workChannels: number): FrameChunks {
  const numFrames = dims[1]!;
  if (!cut) return [[0, numFrames]];
  const framesIn = (room: number) => Math.floor(room / workOf(dims, workChannels));
  const cached = Math.max(framesIn(cut.cached), Math.ceil(numFrames / MOST_CACHED_PARTS));
  return evenChunks(numFrames, Math.min(framesIn(cut.room), cached));
}

/** The parts of the half of a stage that sees all frames, and a place for what is between its convolutions, if there is room for all of it. */
function temporalParts(
  g: Graph,
  x: Tensor,
  { cut, maps }: StageMemory,
): { chunks?: FrameChunks | undefined; half?: Tensor | undefined } {
  const numFrames = x.dims[1]!;
  if (!cut || cut.room === Number.POSITIVE_INFINITY) return { chunks: cut && [[0, numFrames]] };
  const frames = Math.floor(cut.room / workOf(x.dims, x.dims[4]!));
  const beside = maps.beside(x);
  // The first convolution sees a frame on each side of a part.
  const left = frames - (beside ? 0 : numFrames);
  const longest = left >= numFrames ? numFrames : left - 2;
  if (longest > 0) return { chunks: evenChunks(numFrames, longest), half: beside ?? g.empty(x.dims, x.dtype) };
  // Else there are a window with two frames more and, where norms are not inside, a normalised part of that length.
  const isInside = cut.insideRoom !== undefined && normsOverFramesInside(x);
  const window = isInside ? Math.floor(cut.insideRoom! / workOf(x.dims, x.dims[4]!)) : Math.floor(frames / 2);
  return { chunks: evenChunks(numFrames, window - 2) };
}

/** Where stages work. */
interface StageMemory {
  maps: Maps;
  cut: Cut | undefined;
}

/** Records blocks one after the other. */
function* runStages(g: Graph, first: Tensor, stages: readonly Stage[], memory: StageMemory): Pausable<Tensor> {
  let x = first;
  for (const stage of stages) {
    const y = memory.maps.next(stage, x);
    const spatial = yield* inParts(g, [x, y], spatialParts(memory.cut, y.dims, stage.workChannels), stage);
    yield;
    x = yield* stage.temporal.inPieces(g, spatial, temporalParts(g, spatial, memory));
    if (stage.tapAs) g.tap(stage.tapAs, x);
    yield;
  }
  return x;
}

/** The layers behind the last up block. */
function decoderEnd(scope: Weights, config: VaeConfig, channels: number) {
  const { outChannels } = config;
  const norm = groupNorm(scope.at("conv_norm_out"), { channels, eps: 1e-6, act: "silu" });
  const convOut = conv(scope.at("conv_out"), { cin: channels, cout: outChannels, kernel: [1, 3, 3] });
  const timeConv = conv(scope.at("time_conv_out"), { cin: outChannels, cout: outChannels, kernel: [3, 1, 1] });
  const spatial: SpatialPart = (g, x, out) => convOut(g, norm(g, x), { out });
  const temporal: DecoderEnd["temporal"] = (g, x, [before, after] = [false, false]) =>
    timeConv(g, x, { padding: [before ? 0 : 1, after ? 0 : 1, 0, 0, 0, 0] });
  const record = function* (g: Graph, x: Tensor, cut: Cut | undefined): Pausable<Tensor> {
    g.tap(scope.at("conv_norm_out").path, () => norm(g, x, { act: "none" }));
    const out = g.empty([...x.dims.slice(0, 4), outChannels], x.dtype);
    const frames = yield* inParts(g, [x, out], spatialParts(cut, x.dims, channels + outChannels), { spatial });
    g.tap(scope.at("conv_out").path, frames);
    const y = temporal(g, frames);
    g.tap(scope.at("time_conv_out").path, y);
    g.tap(scope.path, y);
    return y;
  };
  return {
    record,
    parts: { cin: channels, channels: outChannels, spatial, temporal } as DecoderEnd,
  };
}

/** The blocks as those see them that compute the halves one by one. */
function blocksOf(stages: readonly Stage[], top: number): DecoderBlock[] {
  return stages.map(({ name, level, grow, channels, spatial, temporal, temporalHalves }, i) => ({
    ...{ name, level, grow, channels, temporalEps: TEMPORAL_EPS, cin: stages[i - 1]?.channels ?? top },
    ...{ spatial, temporalHalves },
    temporal: pausable((g: Graph, x: Tensor) => temporal.inPieces(g, x)),
  }));
}

/** Makes the decoder from its weights.
 *  Source: huggingface/diffusers@58eb52c models/autoencoders/autoencoder_kl_temporal_decoder.py TemporalDecoder. */
export function decoder(w: Weights, config: VaeConfig): Decoder {
  const scope = w.at("decoder");
  const top = config.blockOutChannels[config.blockOutChannels.length - 1]!;
  const convIn = conv(scope.at("conv_in"), { cin: config.latentChannels, cout: top, kernel: [1, 3, 3] });
  const up = upStages(scope.at("up_blocks"), config);
  const stages = [...middleStages(scope.at("mid_block"), top, config.layersPerBlock), ...up.stages];
  const end = decoderEnd(scope, config, up.channels);
  const tapped = [scope.at("conv_in").path, ...stages.flatMap(({ name, tapAs = name }) => [name, tapAs])];
  function* head(g: Graph, z: Tensor, some: readonly Stage[], cut: Cut | undefined): Pausable<Tensor> {
    const sizes = sizesOf([...z.dims.slice(0, 4), top], some);
    const isCut = cut !== undefined && cut.room < Number.POSITIVE_INFINITY && neverShrinks(sizes);
    const maps = isCut && !tapped.some((name) => g.wants(name)) ? mapsInPlace(g, sizes) : mapsApart(g, sizes[0]!);
    const x = convIn(g, z, { out: maps.first });
    g.tap(scope.at("conv_in").path, x);
    return yield* runStages(g, x, some, { maps, cut });
  }
  return {
    decode: pausable(function* (g: Graph, z: Tensor, options: DecodeOptions = {}) {
      const cut = cutOf(z, options, stages);
      return yield* end.record(g, yield* head(g, z, stages, cut), cut);
    }),
    decodeHead: pausable(function* (g: Graph, z: Tensor, { numBlocks, ...options }: DecodeHeadOptions) {
      const some = stages.slice(0, numBlocks);
      return yield* head(g, z, some, cutOf(z, options, some));
    }),
    blocks: blocksOf(stages, top),
    end: end.parts,
  };
}
