import { COUNT, listOf } from "@vd/kernels-native";
import {
  conv,
  embedding,
  type Graph,
  groupNorm,
  type Module,
  type Pausable,
  type PausableModule,
  pausable,
  requireLayer,
  requireTensor,
  reshape,
  SharedChannels,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import {
  type BlockInputs,
  type DeepFeatures,
  deepChannelsOf,
  downBlock,
  embChannelsOf,
  middleBlock,
  upBlock,
} from "./blocks";
import type { Cross } from "./conditioning";
import type { UnetConfig } from "./config";
import type { Conditioning, SharedConditioning } from "./transformer";

/** Operands of one denoiser call. */
export interface UnetInputs {
  /** Noisy latents scaled for the step, then the picture's latents: [B,F,H,W,inChannels]. */
  sample: Tensor;
  /** 0.25 · ln σ for Stable Video Diffusion: f32[1,1]. */
  timestep: Tensor;
  /** fps − 1, motion bucket, noise augmentation: f32[B,3]. */
  addedTimeIds: Tensor;
  conditioning: Conditioning;
  /** Features of the inner blocks that are kept for other calls, or kept ones. */
  deep?: DeepFeatures | undefined;
  /** Where the prediction goes, [B,F,H,W,outChannels]. */
  out?: Tensor | undefined;
}

/** The spatio-temporal UNet as forward functions. */
export interface Unet {
  config: UnetConfig;
  /** Channels of the tensors that {@link condition} fills. */
  crossWidth: number;
  framesWidth: number;
  /** Channels of {@link UnetInputs.deep}'s features, which have the sample's height and width. */
  deepChannels: number;
  /** Fills what every step shares. context: [B,1,1,D], crossOut: [B,1,1,crossWidth], framesOut: [1,F,1,framesWidth]. */
  condition: PausableModule<[context: Tensor, crossOut: Tensor, framesOut: Tensor], void>;
  /** Fills the frame embeddings alone, for contexts of several tokens. */
  conditionFrames: PausableModule<[framesOut: Tensor], void>;
  /** → prediction [B,F,H,W,outChannels]. */
  forward: PausableModule<[inputs: UnetInputs]>;
}

/** Wires a context of one or more tokens to a call. context: [B,1,L,D]. */
export function tokenCross(context: Tensor): Cross {
  requireTensor("tokenCross", context);
  return { kind: "tokens", context };
}

/** Wires vectors that {@link Unet.condition} computed to a call. */
export function foldedCross(vectors: Tensor): Cross {
  requireTensor("foldedCross", vectors);
  return { kind: "folded", vectors };
}

/** The embedding of step and micro-conditions, after the SiLU that every user starts with: [B,1,1,E]. */
function timeEmbedding(w: Weights, config: UnetConfig): Module<[timestep: Tensor, addedTimeIds: Tensor]> {
  const channels = config.blockOutChannels[0]!;
  const inner = embChannelsOf(config);
  const time = embedding(w.at("time_embedding"), { cin: channels, inner });
  const added = embedding(w.at("add_embedding"), { cin: config.additionEmbedInput, inner });
  return (g, timestep, addedTimeIds) => {
    const waves = g.timestepEmbedding({
      name: "time_proj",
      t: timestep,
      width: channels,
      out: g.empty([1, 1, channels]),
    });
    const t = time(g, reshape(waves, [1, 1, 1, channels]));
    g.tap("time_embedding", t);
    const [batch, numIds] = addedTimeIds.dims as [number, number];
    const width = config.additionTimeEmbedDim;
    const out = g.empty([batch, numIds, width]);
    const ids = g.timestepEmbedding({ name: "add_time_proj", t: addedTimeIds, width, out });
    const flat = reshape(ids, [batch, 1, 1, numIds * width]);
    g.tap("add_embedding", () => added(g, flat));
    return added(g, flat, { frameBias: reshape(t, [1, 1, inner]), act: "silu" });
  };
}

/** What `make` makes of each item, pausing after each. */
function* inTurn<T, R>(items: readonly T[], make: (item: T) => R): Pausable<R[]> {
  const made: R[] = [];
  for (const item of items) {
    made.push(make(item));
    yield;
  }
  return made;
}

/**
 * Makes the UNet from its weights. Pauses after each block. Source: huggingface/diffusers@58eb52c
 * unets/unet_spatio_temporal_condition.py.
 *
 * @throws VdError `weights` naming the first key that does not fit
 */
export const unet = pausable(function* (w: Weights, config: UnetConfig): Pausable<Unet> {
  requireLayer("unet", w, config, { blockOutChannels: listOf(COUNT), inChannels: COUNT });
  const shared: SharedConditioning = { cross: new SharedChannels(), frames: new SharedChannels() };
  const channels = config.blockOutChannels[0]!;
  const levels = config.blockOutChannels.map((_, i) => i);
  const convIn = conv(w.at("conv_in"), { cin: config.inChannels, cout: channels, kernel: [1, 3, 3] });
  const embed = timeEmbedding(w, config);
  const down = yield* inTurn(levels, (level) => downBlock(w.at("down_blocks").at(level), config, level, shared));
  const middle = middleBlock(w.at("mid_block"), config, shared);
  const up = yield* inTurn(levels, (level) => upBlock(w.at("up_blocks").at(level), config, level, shared));
  const norm = groupNorm(w.at("conv_norm_out"), { channels, eps: 1e-5, act: "silu" });
  const convOut = conv(w.at("conv_out"), { cin: channels, cout: config.outChannels, kernel: [1, 3, 3] });
  const conditionFrames = pausable((g: Graph, framesOut: Tensor) =>
    shared.frames.fill(g, framesOut.dims[1]!, framesOut),
  );
  return {
    config,
    crossWidth: shared.cross.width,
    framesWidth: shared.frames.width,
    deepChannels: deepChannelsOf(config),
    condition: pausable(function* (g: Graph, context: Tensor, crossOut: Tensor, framesOut: Tensor) {
      yield* shared.cross.fill(g, context, crossOut);
      yield* conditionFrames.inPieces(g, framesOut);
    }),
    conditionFrames,
    forward: pausable(function* (g: Graph, { sample, timestep, addedTimeIds, conditioning, deep, out }: UnetInputs) {
      const inputs: BlockInputs = { emb: embed(g, timestep, addedTimeIds), conditioning, deep };
      yield;
      let h = convIn(g, sample);
      g.tap("conv_in", h);
      const skips = [h];
      const reuses = deep?.mode === "reuse";
      for (const block of reuses ? down.slice(0, 1) : down) h = yield* block(g, h, inputs, skips);
      if (!reuses) h = yield* middle(g, h, inputs);
      for (const block of reuses ? up.slice(-1) : up) h = yield* block(g, h, inputs, skips);
      const last = h;
      g.tap("conv_norm_out", () => norm(g, last, { act: "none" }));
      const y = convOut(g, norm(g, h), { out });
      g.tap("conv_out", y);
      return y;
    }),
  };
});
