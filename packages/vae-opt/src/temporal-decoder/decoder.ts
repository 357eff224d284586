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

/** Applies a spatial function to a clip in parts, pausing after each. */
function* inParts(
  g: Graph,
  x: Tensor,
  chunks: FrameChunks,
  { spatial, grow, channels }: Pick<Stage, "spatial" | "grow" | "channels">,
): Pausable<Tensor> {
  if (chunks.length === 1) return spatial(g, x);
  const [b, f, h, w] = x.dims as [number, number, number, number, number];
  const y = g.empty([b, f, h * grow, w * grow, channels], x.dtype);
  for (const [lo, hi] of chunks) {
    spatial(g, frameRange(x, lo, hi), frameRange(y, lo, hi));
    yield;
  }
  return y;
}

/** How to decode. */
export interface DecodeOptions {
  /** Frames that spatial layers compute at a time, one clip only; fewer need less memory. Default: all. */
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

const chunksOf = (z: Tensor, { chunkFrames }: DecodeOptions): FrameChunks =>
  frameChunks(z.dims[1]!, z.dims[0] === 1 ? (chunkFrames ?? z.dims[1]!) : z.dims[1]!);

/** Records blocks one after the other. */
function* runStages(g: Graph, first: Tensor, stages: readonly Stage[], chunks: FrameChunks): Pausable<Tensor> {
  let x = first;
  for (const stage of stages) {
    const spatial = yield* inParts(g, x, chunks, stage);
    yield;
    x = yield* stage.temporal.inPieces(g, spatial, { chunks });
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
  const record = function* (g: Graph, x: Tensor, chunks: FrameChunks): Pausable<Tensor> {
    g.tap(scope.at("conv_norm_out").path, () => norm(g, x, { act: "none" }));
    const frames = yield* inParts(g, x, chunks, { spatial, grow: 1, channels: outChannels });
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
  function* head(g: Graph, z: Tensor, some: readonly Stage[], chunks: FrameChunks): Pausable<Tensor> {
    const x = convIn(g, z);
    g.tap(scope.at("conv_in").path, x);
    return yield* runStages(g, x, some, chunks);
  }
  return {
    decode: pausable(function* (g: Graph, z: Tensor, options: DecodeOptions = {}) {
      const chunks = chunksOf(z, options);
      return yield* end.record(g, yield* head(g, z, stages, chunks), chunks);
    }),
    decodeHead: pausable(function* (g: Graph, z: Tensor, { numBlocks, ...options }: DecodeHeadOptions) {
      return yield* head(g, z, stages.slice(0, numBlocks), chunksOf(z, options));
    }),
    blocks: blocksOf(stages, top),
    end: end.parts,
  };
}
