import { COUNT, requireFields } from "@vd/kernels-native";
import { attentionWidths, checkUnetChainConfig, type UnetChainConfig } from "./config";
import { upWidths } from "./unet";

/** How large a network is and how much it computes. */
export interface UnetChainSize {
  /** Learned numbers; running means and variances of batch norms are none. */
  parameters: number;
  /** Of convolutions, linear layers and attention for the pictures of one call, a multiply and an add as two. What tells the noise level, which
   *  is computed once, is not among them. */
  flops: number;
}

/** Sums parameters and products. */
class Sum {
  parameters = 0;
  products = 0;

  conv(cin: number, cout: number, pixels: number, taps: number, vectors: number): void {
    this.parameters += cin * cout * taps + vectors * cout;
    this.products += cin * cout * taps * pixels;
  }

  block(widths: readonly number[], pixels: number): void {
    for (const [i, cout] of widths.slice(1).entries()) this.conv(widths[i]!, cout, pixels, 9, 2);
  }

  attention(channels: number, pixels: number, factor: number): void {
    const inner = factor * channels;
    this.parameters += 4 * channels; // Two norms.
    this.conv(channels, 3 * channels, pixels, 1, 1);
    this.products += 2 * pixels * pixels * channels;
    this.conv(channels, channels, pixels, 1, 1);
    this.conv(channels, inner, pixels, 1, 1);
    this.conv(inner, channels, pixels, 1, 1);
  }
}

function addUnet(sum: Sum, config: UnetChainConfig, base: number, pixels: number): void {
  const { multipliers, middleMultipliers, convsPerBlock: count, channels, timeChannels, feedForwardFactor } = config;
  const widths = multipliers.map((factor) => factor * base);
  const smallest = widths.length - 1;
  const at = (level: number) => pixels / 4 ** level;
  const same = (cin: number, cout: number, inner = cout) => [cin, ...Array<number>(count - 1).fill(inner), cout];
  const told = (cin: number, cout: number, level: number, inner = cout) => {
    sum.block(same(cin, cout, inner), at(level));
    sum.parameters += (timeChannels + 1) * cout;
  };
  sum.block(same(channels, widths[0]!), at(0));
  for (let level = 1; level <= smallest; level++) told(widths[level - 1]!, widths[level]!, level);
  let below = widths[smallest]!;
  for (const factor of middleMultipliers) {
    told(below, factor * base, smallest);
    below = factor * base;
  }
  for (const [i, cout] of upWidths(config, base).entries()) {
    const level = smallest - 1 - i;
    const cin = widths[level]! + below;
    told(cin, cout, level, Math.floor(cin / 2));
    below = cout;
  }
  sum.conv(below, channels, at(0), 1, 1);
  for (const [i, width] of attentionWidths(config, base).entries())
    sum.attention(width, at(i < smallest ? i + 1 : i - smallest + 1), feedForwardFactor);
}

function addTemporal(sum: Sum, { channels, temporalChannels: width, temporalStride }: UnetChainConfig, pixels: number) {
  const squares = pixels / temporalStride ** 2;
  sum.conv(channels, width, 2 * squares, 1, 1);
  sum.parameters += 2 * width;
  sum.conv(width, 3 * width, 2 * squares, 1, 1);
  sum.products += 2 * 2 * 2 * squares * width;
  sum.conv(width, width, squares, 1, 1);
  sum.conv(width, channels, squares, 1, 1);
}

/** Counts a network's parameters, and what one call for so many pictures computes. */
export function unetChainSize(
  config: UnetChainConfig,
  size: { pictures: number; height: number; width: number },
): UnetChainSize {
  checkUnetChainConfig(config);
  requireFields("unetChainSize", size, { pictures: COUNT, height: COUNT, width: COUNT });
  const { pictures, height, width } = size;
  const sum = new Sum();
  for (const base of config.baseChannels) addUnet(sum, config, base, height * width);
  addTemporal(sum, config, height * width);
  return { parameters: sum.parameters, flops: 2 * sum.products * pictures };
}
