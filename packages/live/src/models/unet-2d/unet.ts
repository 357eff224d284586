import { COUNT, listOf, VdError } from "@vd/kernels-native";
import {
  describe,
  type EpilogueOptions,
  elementwise,
  type Graph,
  groupNorm,
  type Module,
  type Pausable,
  type PausableModule,
  pausable,
  pixels,
  requireLayer,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";
import { type DownBlock, downBlock, midBlock, type UpBlock, upBlock } from "./blocks";
import type { Unet2dConfig } from "./config";
import { type Conditions, conditionEmbedding } from "./embeddings";
import { narrowConv } from "./narrow-conv";
import { paddedChannels, paddedConv } from "./padded-conv";

/** The features that come from the smaller levels, kept from an earlier call or for later ones. */
export interface DeepFeatures {
  /** `compute` fills `features`, `reuse` takes them in place of the smaller levels. */
  mode: "compute" | "reuse";
  /** Of {@link Unet2d.deepFeatures}' shape. */
  features: Tensor;
}

/** Call-time operands of the network. */
export interface Unet2dCall {
  /** [B,1,H,W,inChannels], or with {@link paddedChannels}, of which those behind the first are any finite numbers. */
  sample: Tensor;
  /** Of {@link Unet2d.embed}. */
  embedding: Tensor;
  /** What follows the last convolution in the same pass. */
  epilogue?: EpilogueOptions | undefined;
  /** Default: all levels are computed and nothing is kept. */
  deep?: DeepFeatures | undefined;
}

/** diffusers' UNet2DModel. */
export interface Unet2d {
  readonly config: Unet2dConfig;
  /** The vector of timestep and class that {@link forward} takes: [B,1,1,E]. */
  readonly embed: Module<[conditions: Conditions]>;
  /** [B,1,H,W,inChannels] → [B,1,H,W,outChannels]. */
  readonly forward: PausableModule<[call: Unet2dCall]>;
  /** The shape of what {@link DeepFeatures} hold for a sample of height×width. */
  deepFeatures(batch: number, height: number, width: number): readonly number[];
}

/** Levels that are computed in a call that reuses deep features: the first, at full size. */
const SHALLOW_LEVELS = 1;

/** Height and width must halve on every level, so that the way up meets the way down. */
function checkSample(sample: Tensor, { blockOutChannels, inChannels }: Unet2dConfig): void {
  const step = 2 ** (blockOutChannels.length - 1);
  const { dims } = sample;
  const [, frames, height, width, channels] = dims;
  const fits = channels === inChannels || channels === paddedChannels(inChannels);
  if (dims.length === 5 && frames === 1 && fits && height! % step === 0 && width! % step === 0) return;
  const expected = `[B,1,H,W,${inChannels}] with height and width in multiples of ${step}`;
  throw new VdError({ code: "shape", where: "UNet2DModel] [sample", expected, got: describe(sample) });
}

/** Runs a block's layers over x and keeps each result as a skip connection. */
function* walkDown(g: Graph, block: DownBlock, x: Tensor, emb: Tensor, skips: Tensor[]): Pausable<Tensor> {
  let h = x;
  for (const layer of block.layers) {
    h = layer(g, h, emb);
    skips.push(h);
    yield;
  }
  return h;
}

/** Runs a block's layers over x and the skip connections that were kept last. */
function* walkUp(g: Graph, block: UpBlock, x: Tensor, emb: Tensor, skips: Tensor[]): Pausable<Tensor> {
  let h = x;
  for (const layer of block.layers) {
    h = layer(g, h, emb, skips.pop()!);
    yield;
  }
  return h;
}

/** 2x − 1, for models that want pixels in [0, 1] centred. */
function centred(g: Graph, x: Tensor): Tensor {
  const y = elementwise(g, (e) => e.sub(e.mul(tokens(x), 2), 1), { name: "center_input_sample" });
  return pixels(y, x.dims[2]!, x.dims[3]!);
}

/**
 * Makes the network from weights with the checkpoint's own names. Source: huggingface/diffusers@58eb52c unets/unet_2d.py.
 *
 * @throws VdError `weights` for weights that do not fit
 * @example
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { parseUnet2dConfig, unet2d } from "@vd/live";
 * import { layoutGraph, Weights } from "@vd/tensor";
 *
 * const folder = "models/tiny-live/unet";
 * const config = parseUnet2dConfig(JSON.parse(readFileSync(`${folder}/config.json`, "utf8")));
 * const net = unet2d(Weights.open(folder), config);
 * const { cost } = layoutGraph((g) => {
 *   const conditions = { timestep: g.input("timestep", [1, 1]), classes: g.input("action", [1, 1, 1, 6]) };
 *   const sample = g.input("sample", [1, 1, 64, 96, 15]);
 *   g.output("y", net.forward(g, { sample, embedding: net.embed(g, conditions) }));
 * });
 * console.log(cost.flops);
 * ```
 */
export function unet2d(w: Weights, config: Unet2dConfig): Unet2d {
  requireLayer("unet2d", w, config, { blockOutChannels: listOf(COUNT), inChannels: COUNT, outChannels: COUNT });
  const { blockOutChannels: widths, inChannels, outChannels, normGroups: groups, normEps: eps } = config;
  const embed = conditionEmbedding(w, config);
  const convIn = paddedConv(w.at("conv_in"), { cin: inChannels, cout: widths[0]! });
  const down = widths.map((_, level) => downBlock(w.at("down_blocks").at(level), config, level));
  const middle = midBlock(w.at("mid_block"), config);
  const up = widths.map((_, position) => upBlock(w.at("up_blocks").at(position), config, position));
  const normOut = groupNorm(w.at("conv_norm_out"), { channels: widths[0]!, groups, eps, act: "silu" });
  const convOut = narrowConv(w.at("conv_out"), { cin: widths[0]!, cout: outChannels });
  const firstShallowUp = widths.length - SHALLOW_LEVELS;

  function* walkDownAll(g: Graph, x: Tensor, emb: Tensor, skips: Tensor[], levels: number): Pausable<Tensor> {
    let h = x;
    for (const [level, block] of down.slice(0, levels).entries()) {
      h = yield* walkDown(g, block, h, emb, skips);
      // A level that is the last one to be computed is not made smaller.
      if (block.downsample && (level < levels - 1 || levels === widths.length)) {
        h = block.downsample(g, h);
        skips.push(h);
      }
      g.tap(`down_blocks.${level}`, h);
    }
    return h;
  }

  function* walkUpAll(g: Graph, x: Tensor, emb: Tensor, skips: Tensor[], from: number, to: number): Pausable<Tensor> {
    let h = x;
    for (let position = from; position < to; position++) {
      const { upsample } = up[position]!;
      h = yield* walkUp(g, up[position]!, h, emb, skips);
      if (upsample) h = upsample(g, h);
      g.tap(`up_blocks.${position}`, h);
    }
    return h;
  }

  /** From the sample to what comes from the smaller levels, computed. */
  function* deepPart(g: Graph, x: Tensor, emb: Tensor, skips: Tensor[]): Pausable<Tensor> {
    const lowest = yield* walkDownAll(g, x, emb, skips, widths.length);
    const h = middle(g, lowest, emb);
    g.tap("mid_block", h);
    return yield* walkUpAll(g, h, emb, skips, 0, firstShallowUp);
  }

  const forward = pausable(function* (g: Graph, { sample, embedding, epilogue, deep }: Unet2dCall): Pausable<Tensor> {
    checkSample(sample, config);
    const first = convIn(g, config.centerInputSample ? centred(g, sample) : sample);
    g.tap("conv_in", first);
    const skips = [first];
    let h: Tensor;
    if (deep?.mode === "reuse") {
      yield* walkDownAll(g, first, embedding, skips, SHALLOW_LEVELS);
      h = deep.features;
    } else {
      h = yield* deepPart(g, first, embedding, skips);
      if (deep) g.copy({ name: "deep_features", x: tokens(h), out: tokens(deep.features) });
    }
    h = yield* walkUpAll(g, h, embedding, skips, firstShallowUp, widths.length);
    return convOut(g, normOut(g, h), epilogue);
  });

  const deepFeatures = (batch: number, height: number, width: number) => [
    batch,
    1,
    height,
    width,
    widths[1] ?? widths[0]!,
  ];
  return { config, embed, forward, deepFeatures };
}
