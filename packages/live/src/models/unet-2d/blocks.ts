import { conv, type Module, type ResBlockConfig, resBlock, type Tensor, type Weights } from "@vd/tensor";
import { attentionBlock } from "./attention-block";
import type { Unet2dConfig } from "./config";

/** A residual block and the attention behind it, if its level has some. */
type Layer = Module<[x: Tensor, emb: Tensor, skip?: Tensor]>;

const headsOf = ({ attentionHeadDim }: Unet2dConfig, channels: number) => channels / (attentionHeadDim ?? channels);

/** What all residual blocks of a model have in common. */
function resConfig(config: Unet2dConfig): Pick<ResBlockConfig, "eps" | "groups" | "embChannels" | "timeScaleShift"> {
  const { normEps: eps, normGroups: groups, timeEmbeddingDim: embChannels, timeScaleShift } = config;
  return { eps, groups, embChannels, timeScaleShift };
}

function layer(
  w: Weights,
  index: number,
  config: Unet2dConfig,
  shape: { cin: number; cout: number; attention: boolean },
) {
  const { cin, cout, attention } = shape;
  const { normEps: eps, normGroups: groups } = config;
  const scope = w.at("resnets").at(index);
  const res = resBlock(scope, { cin, cout, ...resConfig(config) });
  const attentionScope = w.at("attentions").at(index);
  const attend = attention
    ? attentionBlock(attentionScope, { channels: cout, heads: headsOf(config, cout), groups, eps })
    : undefined;
  const forward: Layer = (g, x, emb, skip) => {
    const h = res(g, x, { emb, x2: skip });
    g.tap(scope.path, h);
    if (!attend) return h;
    const y = attend(g, h);
    g.tap(attentionScope.path, y);
    return y;
  };
  return forward;
}

/** One level on the way down. */
export interface DownBlock {
  layers: readonly Layer[];
  /** Halves height and width; undefined on the last level. */
  downsample: Module<[x: Tensor]> | undefined;
}

/** A level's layers on the way down. Source: huggingface/diffusers@58eb52c unet_2d_blocks.py DownBlock2D, AttnDownBlock2D. */
export function downBlock(w: Weights, config: Unet2dConfig, level: number): DownBlock {
  const { blockOutChannels: widths, downAttention, layersPerBlock, downsamplePadding } = config;
  const cout = widths[level]!;
  const first = level === 0 ? cout : widths[level - 1]!;
  const layers = Array.from({ length: layersPerBlock }, (_, i) =>
    layer(w, i, config, { cin: i === 0 ? first : cout, cout, attention: downAttention[level]! }),
  );
  if (level === widths.length - 1) return { layers, downsample: undefined };
  const before = downsamplePadding;
  const downsample = conv(w.at("downsamplers.0.conv"), {
    ...{ cin: cout, cout, kernel: [1, 3, 3], stride: [1, 2, 2] },
    padding: [0, 0, before, 1, before, 1],
  });
  return { layers, downsample };
}

/** One level on the way up. */
export interface UpBlock {
  layers: readonly Layer[];
  /** Doubles height and width; undefined on the last level. */
  upsample: Module<[x: Tensor]> | undefined;
}

/** Channels of the skip connections that a level's up block takes, in its order. */
function skipWidths({ blockOutChannels: widths, layersPerBlock }: Unet2dConfig, level: number): number[] {
  const below = level === 0 ? widths[0]! : widths[level - 1]!;
  return [...Array.from({ length: layersPerBlock }, () => widths[level]!), below];
}

/** A level's layers on the way up. position: 0 for the smallest level. Source: huggingface/diffusers@58eb52c unet_2d_blocks.py
 *  UpBlock2D, AttnUpBlock2D. */
export function upBlock(w: Weights, config: Unet2dConfig, position: number): UpBlock {
  const { blockOutChannels: widths, upAttention } = config;
  const level = widths.length - 1 - position;
  const cout = widths[level]!;
  const incoming = position === 0 ? cout : widths[level + 1]!;
  const layers = skipWidths(config, level).map((skip, i) =>
    layer(w, i, config, { cin: (i === 0 ? incoming : cout) + skip, cout, attention: upAttention[position]! }),
  );
  const kernel = { cin: cout, cout, kernel: [1, 3, 3] as [number, number, number], upsample: true };
  return { layers, upsample: level === 0 ? undefined : conv(w.at("upsamplers.0.conv"), kernel) };
}

/** The middle: a residual block, attention if the model has it there, a second residual block.
 *  Source: huggingface/diffusers@58eb52c unet_2d_blocks.py UNetMidBlock2D. */
export function midBlock(w: Weights, config: Unet2dConfig): Module<[x: Tensor, emb: Tensor]> {
  const { blockOutChannels: widths, midBlockScaleFactor: outputScaleFactor, normEps: eps } = config;
  const channels = widths[widths.length - 1]!;
  const shape = { cin: channels, cout: channels, outputScaleFactor, ...resConfig(config) };
  const first = resBlock(w.at("resnets.0"), shape);
  const heads = headsOf(config, channels);
  const attend = config.midAttention
    ? attentionBlock(w.at("attentions.0"), {
        channels,
        heads,
        groups: config.midAttentionGroups,
        eps,
        outputScaleFactor,
      })
    : undefined;
  const second = resBlock(w.at("resnets.1"), shape);
  return (g, x, emb) => {
    const h = first(g, x, { emb });
    return second(g, attend ? attend(g, h) : h, { emb });
  };
}
