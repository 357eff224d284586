import {
  channelRange,
  conv,
  type Graph,
  linear,
  maxPool,
  type Pausable,
  type SharedChannels,
  slotBias,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import { attentionBlock } from "./attention-block";
import type { UnetChainConfig } from "./config";
import { type ConvBlockConfig, convBlock } from "./conv-block";

/** What a U-Net of the chain is made with. */
export interface ChainedUnetOptions {
  config: UnetChainConfig;
  /** Width of the first level. */
  base: number;
  /** Where blocks reserve what they are told of the noise level. */
  time: SharedChannels<Tensor>;
}

/** Call-time operands: a picture with {@link paddedChannels}, what blocks are told, and where the result goes. */
export interface ChainedUnetCall {
  sample: Tensor;
  time: Tensor;
  out?: Tensor | undefined;
}

/** Widths on the way up behind each level, the smallest first: half as wide as what is put together there, so that it fits the next one. */
export const upWidths = ({ multipliers }: UnetChainConfig, base: number): number[] =>
  multipliers
    .slice(0, -1)
    .map((_, level) => base * multipliers[Math.max(level - 1, 0)]!)
    .reverse();

const pool = maxPool({ kernel: [1, 2, 2], name: "max_pool" });

/** A block that is told the noise level. */
function toldBlock(w: Weights, shape: ConvBlockConfig, { config, time }: ChainedUnetOptions) {
  const block = convBlock(w.at("conv"), shape);
  const told = linear(w.at("time"), { cin: config.timeChannels, cout: shape.cout });
  const slot = time.reserve(shape.cout, (g, emb, out) => told(g, emb, { out }));
  return (g: Graph, x: Tensor, all: Tensor) => block(g, x, { frameBias: slotBias(all, slot) });
}

/** A place for what a level leaves on the way down and for what the way up puts behind it, so that nothing is copied. dims: of the former. */
function joined(g: Graph, [b, f, h, w, c]: readonly number[], others: number) {
  const whole = g.empty([b!, f!, h!, w!, c! + others]);
  return { whole, skip: channelRange(whole, 0, c!), grown: channelRange(whole, c!, c! + others) };
}

/**
 * A U-Net: blocks of convolutions, each level half the size of the one before by its largest pixels, attention behind the smaller levels on
 * both ways, bilinear growth and skip connections. sample: [1,F,H,W,paddedChannels] → [1,F,H,W,channels].
 */
export function chainedUnet(w: Weights, options: ChainedUnetOptions) {
  const { config, base } = options;
  const { multipliers, middleMultipliers, heads, feedForwardFactor, convsPerBlock: count, channels } = config;
  const widths = multipliers.map((factor) => factor * base);
  const attention = (scope: Weights, width: number) =>
    attentionBlock(scope, { channels: width, heads, inner: feedForwardFactor * width });
  const first = convBlock(w.at("first"), { cin: channels, cout: widths[0]!, count }, true);
  const down = widths.slice(1).map((cout, i) => {
    const scope = w.at("down").at(i);
    return {
      block: toldBlock(scope, { cin: widths[i]!, cout, count }, options),
      attend: attention(scope.at("transformer"), cout),
    };
  });
  const middleWidths = [widths.at(-1)!, ...middleMultipliers.map((factor) => factor * base)];
  const middle = middleWidths
    .slice(1)
    .map((cout, i) => toldBlock(w.at("middle").at(i), { cin: middleWidths[i]!, cout, count }, options));
  const ups = upWidths(config, base);
  const up = ups.map((cout, i) => {
    const [scope, below] = [w.at("up").at(i), i === 0 ? middleWidths.at(-1)! : ups[i - 1]!];
    const cin = widths[widths.length - 2 - i]! + below;
    const shape = { cin, inner: Math.floor(cin / 2), cout, count };
    const isFull = i === ups.length - 1;
    return {
      below,
      block: toldBlock(scope, shape, options),
      attend: isFull ? undefined : attention(scope.at("transformer"), cout),
    };
  });
  const last = conv(w.at("last"), { cin: ups.at(-1)!, cout: channels, kernel: [1, 1, 1] });

  return function* (g: Graph, { sample, time, out }: ChainedUnetCall): Pausable<Tensor> {
    const places: ReturnType<typeof joined>[] = [];
    /** Keeps what `make` computes in a place of its level; the next smaller level reads it there. */
    const keep = ([b, f, h, w]: readonly number[], make: (skip: Tensor) => Tensor) => {
      const level = places.length;
      const place = joined(g, [b!, f!, h!, w!, widths[level]!], up[widths.length - 2 - level]!.below);
      places.push(place);
      return make(place.skip);
    };
    let h = keep(sample.dims, (skip) => first(g, sample, { out: skip }));
    for (const [i, { block, attend }] of down.entries()) {
      const told = block(g, pool(g, h), time);
      h = i === down.length - 1 ? attend(g, told) : keep(told.dims, (skip) => attend(g, told, skip));
      yield;
    }
    for (const block of middle) {
      h = block(g, h, time);
      yield;
    }
    for (const { block, attend } of up) {
      const { whole, grown } = places.pop()!;
      g.resize({ ...{ name: `${w.path}.bilinear`, x: h, mode: "bilinear", out: grown }, ...sizeOf(grown) });
      const told = block(g, whole, time);
      h = attend ? attend(g, told) : told;
      yield;
    }
    const y = last(g, h, { out });
    g.tap(w.path, y);
    return y;
  };
}

const sizeOf = ({ dims }: Tensor) => ({ height: dims[2]!, width: dims[3]! });
