import {
  conv,
  type Graph,
  type Pausable,
  spatioTemporalResBlock,
  type Tensor,
  tokens,
  upsampler,
  type Weights,
} from "@vd/tensor";
import type { UnetConfig } from "./config";
import { type Conditioning, type SharedConditioning, spatioTemporalTransformer } from "./transformer";

/** What every block of a call needs. */
export interface BlockInputs {
  /** Time embedding after its SiLU, [B,1,1,E]. */
  emb: Tensor;
  conditioning: Conditioning;
  /** For the level at full size; undefined for a call on its own. */
  deep?: DeepFeatures | undefined;
}

/** What the inner blocks make of a call, kept from one call to others. Source: https://arxiv.org/abs/2312.00858. */
export interface DeepFeatures {
  /** `compute` fills `features`, `reuse` takes them in place of the inner blocks. */
  mode: "compute" | "reuse";
  /** [B,F,H,W,deepChannels]. */
  features: Tensor;
}

/** Layers of the level at full size that every call computes on the way down; on the way up one more, for the skip connection of
 *  the first convolution. */
const OUTER_LAYERS = 1;

/** Channels of the deep features: what the first of the outer layers on the way up takes. */
export function deepChannelsOf({ blockOutChannels, layersPerBlock }: UnetConfig): number {
  const isAllOfLevel = layersPerBlock[0]! === OUTER_LAYERS;
  return blockOutChannels[isAllOfLevel ? Math.min(1, blockOutChannels.length - 1) : 0]!;
}

/** Shape of one residual block with or without a transformer behind it. */
interface LayerConfig {
  cin: number;
  cout: number;
  eps: number;
  embChannels: number;
  transformer?: { heads: number; numLayers: number; crossAttentionDim: number } | undefined;
}

/** Records a block that pauses between its parts. */
export type Block<Args extends readonly unknown[]> = (g: Graph, ...args: Args) => Pausable<Tensor>;

type Layer = Block<[x: Tensor, inputs: BlockInputs, x2?: Tensor]>;

/** Residual block `i`, then transformer `t`. x: [B,F,H,W,C1], x2: skip → [B,F,H,W,cout]. */
function layer(w: Weights, i: number, t: number, config: LayerConfig, shared: SharedConditioning): Layer {
  const block = spatioTemporalResBlock(w.at("resnets").at(i), config);
  const { transformer, cout: channels } = config;
  const attend =
    transformer && spatioTemporalTransformer(w.at("attentions").at(t), { channels, ...transformer }, shared);
  return function* (g, x, { emb, conditioning }, x2) {
    const spatial = block.spatial(g, x, { emb, x2 });
    yield;
    const h = yield* block.temporal.inPieces(g, spatial, { emb });
    yield;
    return attend ? yield* attend(g, h, conditioning) : h;
  };
}

const transformerAt = (config: UnetConfig, level: number) => ({
  heads: config.numHeads[level]!,
  numLayers: config.transformerLayers[level]!,
  crossAttentionDim: config.crossAttentionDim[level]!,
});

/** Width of the time embedding. */
export const embChannelsOf = (config: UnetConfig): number => 4 * config.blockOutChannels[0]!;

/** Group norms of residual blocks in attending down blocks and in all up blocks; elsewhere 1e-5. */
const FINE_EPS = 1e-6;
const COARSE_EPS = 1e-5;

/** A level on the way down: its layers' results are kept for the way up; all levels but the last halve the size.
 *  x: [B,F,H,W,C] → the level's result, pushed onto `skips` with those of its layers.
 *  Source: huggingface/diffusers@58eb52c unets/unet_3d_blocks.py CrossAttnDownBlockSpatioTemporal. */
export function downBlock(
  w: Weights,
  config: UnetConfig,
  level: number,
  shared: SharedConditioning,
): Block<[x: Tensor, inputs: BlockInputs, skips: Tensor[]]> {
  const cout = config.blockOutChannels[level]!;
  const first = config.blockOutChannels[Math.max(level - 1, 0)]!;
  const attends = config.downAttention[level]!;
  const layers = Array.from({ length: config.layersPerBlock[level]! }, (_, i) => {
    const eps = attends ? FINE_EPS : COARSE_EPS;
    const transformer = attends ? transformerAt(config, level) : undefined;
    return layer(
      w,
      i,
      i,
      { cin: i === 0 ? first : cout, cout, eps, embChannels: embChannelsOf(config), transformer },
      shared,
    );
  });
  const scope = w.at("downsamplers.0");
  const isLast = level === config.blockOutChannels.length - 1;
  const shrink = isLast ? undefined : conv(scope.at("conv"), { cin: cout, cout, kernel: [1, 3, 3], stride: [1, 2, 2] });
  return function* (g, x, inputs, skips) {
    let h = x;
    const reuses = level === 0 && inputs.deep?.mode === "reuse";
    for (const each of reuses ? layers.slice(0, OUTER_LAYERS) : layers) {
      h = yield* each(g, h, inputs);
      skips.push(h);
    }
    if (shrink && !reuses) {
      h = shrink(g, h);
      skips.push(h);
      g.tap(scope.path, h);
    }
    g.tap(w.path, h);
    return h;
  };
}

/** Residual block, transformer, residual block. x: [B,F,H,W,C] → the same shape.
 *  Source: huggingface/diffusers@58eb52c unets/unet_3d_blocks.py UNetMidBlockSpatioTemporal. */
export function middleBlock(
  w: Weights,
  config: UnetConfig,
  shared: SharedConditioning,
): Block<[x: Tensor, inputs: BlockInputs]> {
  const level = config.blockOutChannels.length - 1;
  const channels = config.blockOutChannels[level]!;
  const shape = { cin: channels, cout: channels, eps: COARSE_EPS, embChannels: embChannelsOf(config) };
  const first = layer(w, 0, 0, { ...shape, transformer: transformerAt(config, level) }, shared);
  const second = layer(w, 1, 1, shape, shared);
  return function* (g, x, inputs) {
    const y = yield* second(g, yield* first(g, x, inputs), inputs);
    g.tap(w.path, y);
    return y;
  };
}

/** The deep features that the outer layers go on with: kept ones, or `h`, which is kept. */
function deepFeatures(g: Graph, h: Tensor, { mode, features }: DeepFeatures): Tensor {
  if (mode === "compute") g.copy({ name: "deep_features", x: tokens(h), out: tokens(features) });
  return mode === "compute" ? h : features;
}

/** A level on the way up; `position` 0 is the smallest. Each layer takes one skip connection.
 *  Source: huggingface/diffusers@58eb52c unets/unet_3d_blocks.py CrossAttnUpBlockSpatioTemporal. */
export function upBlock(
  w: Weights,
  config: UnetConfig,
  position: number,
  shared: SharedConditioning,
): Block<[x: Tensor, inputs: BlockInputs, skips: Tensor[]]> {
  const top = config.blockOutChannels.length - 1;
  const level = top - position;
  const cout = config.blockOutChannels[level]!;
  const previous = config.blockOutChannels[Math.min(level + 1, top)]!;
  const below = config.blockOutChannels[Math.max(level - 1, 0)]!;
  const numLayers = config.layersPerBlock[level]! + 1;
  const transformer = config.upAttention[position] ? transformerAt(config, level) : undefined;
  const layers = Array.from({ length: numLayers }, (_, i) => {
    const cin = (i === 0 ? previous : cout) + (i === numLayers - 1 ? below : cout);
    return layer(w, i, i, { cin, cout, eps: FINE_EPS, embChannels: embChannelsOf(config), transformer }, shared);
  });
  const grow = level > 0 ? upsampler(w.at("upsamplers.0"), cout) : undefined;
  const firstOuter = layers.length - OUTER_LAYERS - 1;
  return function* (g, x, inputs, skips) {
    let h = x;
    const deep = level === 0 ? inputs.deep : undefined;
    for (const [i, each] of layers.entries()) {
      if (deep?.mode === "reuse" && i < firstOuter) continue;
      if (deep && i === firstOuter) h = deepFeatures(g, h, deep);
      h = yield* each(g, h, inputs, skips.pop()!);
    }
    if (grow) h = grow(g, h, skips[skips.length - 1]!);
    g.tap(w.path, h);
    return h;
  };
}
