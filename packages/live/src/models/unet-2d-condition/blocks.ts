import {
  conv,
  type Graph,
  type Pausable,
  resBlock,
  type SharedChannels,
  slotBias,
  type Tensor,
  timeProjection,
  upsampler,
  type Weights,
} from "@vd/tensor";
import type { ConditionLevel, Unet2dConditionConfig } from "./config";
import { type SharedText, textTransformer } from "./transformer";

/** What the network collects while it is made: tensors that follow from timestep and text alone, each block with its slot. */
export interface SharedConditions {
  /** What residual blocks add of the timestep, [1,F,1,width], made of its embedding [1,F,1,E]. */
  time: SharedChannels<Tensor>;
  text: SharedText;
}

/** Those tensors during a call. */
export interface BlockConditions {
  /** [1,F,1,width]. */
  time: Tensor;
  /** [1,1|F,L,width]. */
  text: Tensor;
}

/** Records a block that pauses between its parts. */
export type Block<Args extends readonly unknown[]> = (g: Graph, ...args: Args) => Pausable<Tensor>;

type Layer = Block<[x: Tensor, conditions: BlockConditions, skip?: Tensor]>;

/** Width of the timestep's embedding. */
export const embChannelsOf = ({ levels }: Unet2dConditionConfig): number => 4 * levels[0]!.channels;

/** What the blocks of a model share. */
interface Parts {
  config: Unet2dConditionConfig;
  shared: SharedConditions;
}

/** A residual block, its place in the shared tensor reserved. */
function residual(w: Weights, { config, shared }: Parts, shape: { cin: number; cout: number; scaleFactor?: number }) {
  const { normEps: eps, normGroups: groups } = config;
  const { cin, cout, scaleFactor: outputScaleFactor } = shape;
  const embChannels = embChannelsOf(config);
  const block = resBlock(w, { cin, cout, eps, groups, embChannels, outputScaleFactor });
  const project = timeProjection(w, { embChannels, cout });
  const slot = shared.time.reserve(cout, (g, emb, out) => project(g, emb, { out }));
  return (g: Graph, x: Tensor, { time }: BlockConditions, skip?: Tensor) => {
    const y = block(g, x, { timeBias: slotBias(time, slot), x2: skip });
    g.tap(w.path, y);
    return y;
  };
}

const transformer = (w: Weights, { config, shared }: Parts, level: ConditionLevel) =>
  textTransformer(
    w,
    { ...level, normGroups: config.normGroups, linearProjection: config.linearProjection },
    shared.text,
  );

/** Residual block `i` of a level and the transformer behind it, if it has one. */
function layer(w: Weights, i: number, parts: Parts, level: ConditionLevel, cin: number, attends: boolean): Layer {
  const block = residual(w.at("resnets").at(i), parts, { cin, cout: level.channels });
  const attend = attends ? transformer(w.at("attentions").at(i), parts, level) : undefined;
  return function* (g, x, conditions, skip) {
    const h = block(g, x, conditions, skip);
    yield;
    return attend ? yield* attend(g, h, conditions.text) : h;
  };
}

/** A level on the way down: all its results are kept for the way up. x: [1,F,H,W,C] → the level's result.
 *  Source: huggingface/diffusers@58eb52c unets/unet_2d_blocks.py DownBlock2D, CrossAttnDownBlock2D. */
export function downBlock(
  w: Weights,
  index: number,
  parts: Parts,
): Block<[x: Tensor, conditions: BlockConditions, skips: Tensor[]]> {
  const { levels, downsamplePadding: before } = parts.config;
  const level = levels[index]!;
  const { channels, layers: count, downAttention } = level;
  const first = levels[Math.max(index - 1, 0)]!.channels;
  const layers = Array.from({ length: count }, (_, i) =>
    layer(w, i, parts, level, i === 0 ? first : channels, downAttention),
  );
  const scope = w.at("downsamplers.0.conv");
  const isLast = index === levels.length - 1;
  const shape = { cin: channels, cout: channels, kernel: [1, 3, 3] as [number, number, number] };
  const padding = [0, 0, before, 1, before, 1] as [number, number, number, number, number, number];
  const shrink = isLast ? undefined : conv(scope, { ...shape, stride: [1, 2, 2], padding });
  return function* (g, x, conditions, skips) {
    let h = x;
    for (const each of layers) {
      h = yield* each(g, h, conditions);
      skips.push(h);
    }
    if (shrink) {
      h = shrink(g, h);
      skips.push(h);
    }
    g.tap(w.path, h);
    return h;
  };
}

/** Residual block, transformer, residual block. x: [1,F,H,W,C] → the same shape.
 *  Source: huggingface/diffusers@58eb52c unets/unet_2d_blocks.py UNetMidBlock2DCrossAttn. */
export function middleBlock(w: Weights, parts: Parts): Block<[x: Tensor, conditions: BlockConditions]> {
  const { levels, midBlockScaleFactor: scaleFactor } = parts.config;
  const level = levels[levels.length - 1]!;
  const shape = { cin: level.channels, cout: level.channels, scaleFactor };
  const first = residual(w.at("resnets.0"), parts, shape);
  const attend = transformer(w.at("attentions.0"), parts, level);
  const second = residual(w.at("resnets.1"), parts, shape);
  return function* (g, x, conditions) {
    const attended = yield* attend(g, first(g, x, conditions), conditions.text);
    const y = second(g, attended, conditions);
    g.tap(w.path, y);
    return y;
  };
}

/** A level on the way up; `position` 0 is the smallest. Each layer takes one skip connection.
 *  Source: huggingface/diffusers@58eb52c unets/unet_2d_blocks.py UpBlock2D, CrossAttnUpBlock2D. */
export function upBlock(
  w: Weights,
  position: number,
  parts: Parts,
): Block<[x: Tensor, conditions: BlockConditions, skips: Tensor[]]> {
  const { levels } = parts.config;
  const top = levels.length - 1;
  const index = top - position;
  const level = levels[index]!;
  const previous = levels[Math.min(index + 1, top)]!.channels;
  const below = levels[Math.max(index - 1, 0)]!.channels;
  const { channels, layers: count, upAttention } = level;
  const layers = Array.from({ length: count + 1 }, (_, i) => {
    const cin = (i === 0 ? previous : channels) + (i === count ? below : channels);
    return layer(w, i, parts, level, cin, upAttention);
  });
  const grow = index > 0 ? upsampler(w.at("upsamplers.0"), channels) : undefined;
  return function* (g, x, conditions, skips) {
    let h = x;
    for (const each of layers) h = yield* each(g, h, conditions, skips.pop()!);
    if (grow) h = grow(g, h, skips[skips.length - 1]!);
    g.tap(w.path, h);
    return h;
  };
}
