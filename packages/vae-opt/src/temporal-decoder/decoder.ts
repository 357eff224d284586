import { countOf } from "@vd/kernels-native";
import {
  conv,
  type FrameChunks,
  frameChunks,
  frameRange,
  type Graph,
  groupNorm,
  type Module,
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
  /** Names to keep the result under, once the stage is done. */
  tapAs?: string;
}

const TEMPORAL_EPS = 1e-5;
const stageConfig = (cin: number, cout: number) => ({
  ...{ cin, cout, eps: 1e-6, temporalEps: TEMPORAL_EPS },
  switched: true,
});

function residualStage(w: Weights, level: number, [cin, cout]: [number, number], before?: Module, grow = 1): Stage {
  const block = spatioTemporalResBlock(w, stageConfig(cin, cout));
  const spatial: SpatialPart = (g, x, out) => block.spatial(g, before ? before(g, x) : x, { out });
  const { temporal, temporalHalves } = block;
  return { name: w.path, level, spatial, temporal, temporalHalves, grow, channels: cout };
}

/** The middle block: attention comes before the second residual block only, so with one layer it never runs and
 *  layers beyond the second never run either, as in the reference. */
function middleStages(w: Weights, channels: number, numLayers: number): Stage[] {
  const attention = imageAttention(w.at("attentions.0"), channels);
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
  let upsample: Module | undefined;
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
function upsampler(level: Weights, channels: number): Module {
  const w = level.at("upsamplers.0");
  const grown = conv(w.at("conv"), { cin: channels, cout: channels, kernel: [1, 3, 3], upsample: true });
  return (g, x) => {
    const y = grown(g, x);
    g.tap(w.path, y);
    g.tap(level.path, y);
    return y;
  };
}

/** Applies a spatial function to a clip in parts, pausing after each. out: gives the place of all results, where there are several parts. */
function* inParts(
  g: Graph,
  x: Tensor,
  chunks: FrameChunks,
  { spatial, out }: Pick<Stage, "spatial"> & { out: () => Tensor },
): Pausable<Tensor> {
  if (chunks.length === 1) return spatial(g, x);
  const y = out();
  for (const [lo, hi] of chunks) {
    spatial(g, frameRange(x, lo, hi), frameRange(y, lo, hi));
    yield;
  }
  return y;
}

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
}

/**
 * Maps of a decode in parts that all end where the same block of memory ends: each stage's results come from the block's beginning on while
 * what it takes is used up before they reach it, so there is never more than the largest map.
 */
function mapsInPlace(g: Graph, dims: readonly number[], stages: readonly Stage[]): Maps {
  const sizes = [dims];
  for (const stage of stages) sizes.push(grownDims(sizes.at(-1)!, stage));
  const bytesOf = (size: readonly number[]) => packedBytes(size, g.dtype);
  const largest = sizes.reduce((most, size) => (bytesOf(size) > bytesOf(most) ? size : most));
  const block = g.empty(largest);
  const atEnd = (size: readonly number[]) =>
    packedTensor(block.storage, size, g.dtype, block.storage.bytes - bytesOf(size));
  return { first: atEnd(dims), next: (stage, x) => atEnd(grownDims(x.dims, stage)) };
}

/** Maps of their own for every stage: whoever keeps some of them would find others in their place. */
function mapsApart(g: Graph, dims: readonly number[]): Maps {
  return { first: g.empty(dims), next: (stage, x) => g.empty(grownDims(x.dims, stage), x.dtype) };
}

/** How to decode. */
export interface DecodeOptions {
  /** Frames of the largest map that are computed at a time, one clip only; fewer need less memory. Every number gives the same bits. Default:
   *  all, with norms that find the statistics of all frames themselves, which differ by rounding. */
  chunkFrames?: number | undefined;
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
  chunkFrames: number;
  /** The largest result of a stage, whose parts have `chunkFrames` frames: of smaller ones more frames take the same memory. */
  largest: number;
}

/** How the stages cut the clip z; undefined where each has a norm of its own over all of it. */
function cutOf(z: Tensor, { chunkFrames }: DecodeOptions, stages: readonly Stage[]): Cut | undefined {
  const [batch, numFrames] = z.dims as [number, number];
  if (chunkFrames === undefined) return undefined;
  let [dims, largest] = [z.dims as readonly number[], 1];
  for (const stage of stages) {
    dims = grownDims(dims, stage);
    largest = Math.max(largest, countOf(dims));
  }
  return { chunkFrames: batch === 1 ? chunkFrames : numFrames, largest };
}

/** The parts of a stage with a result of `dims`. */
function partsOf(cut: Cut | undefined, dims: readonly number[]): FrameChunks {
  const numFrames = dims[1]!;
  if (!cut) return [[0, numFrames]];
  const size = Math.floor((cut.chunkFrames * cut.largest) / countOf(dims));
  return frameChunks(numFrames, cut.chunkFrames >= numFrames ? numFrames : Math.min(size, numFrames));
}

/** Records blocks one after the other. */
function* runStages(
  g: Graph,
  first: Tensor,
  stages: readonly Stage[],
  { maps, cut }: { maps: Maps; cut: Cut | undefined },
): Pausable<Tensor> {
  let x = first;
  for (const stage of stages) {
    const chunks = partsOf(cut, grownDims(x.dims, stage));
    const spatial = yield* inParts(g, x, chunks, { spatial: stage.spatial, out: () => maps.next(stage, x) });
    yield;
    x = yield* stage.temporal.inPieces(g, spatial, { chunks: cut && chunks });
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
    const out = () => g.empty([...x.dims.slice(0, 4), outChannels], x.dtype);
    const frames = yield* inParts(g, x, partsOf(cut, x.dims), { spatial, out });
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
    const dims = [...z.dims.slice(0, 4), top];
    const isCut = cut !== undefined && cut.chunkFrames < z.dims[1]! && some.length > 0;
    const maps = isCut && !tapped.some((name) => g.wants(name)) ? mapsInPlace(g, dims, some) : mapsApart(g, dims);
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
