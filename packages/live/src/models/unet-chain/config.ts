import { requireOptions, VdError } from "@vd/kernels-native";
import { MAX_LEVELS, MAX_WIDTH } from "@vd/tensor";

/** Two or more U-Nets, each of which takes the picture that the one before made, and a last part that sees the previous frame. */
export interface UnetChainConfig {
  /** Channels of a picture. */
  channels: number;
  /** Width of each U-Net's first level. */
  baseChannels: readonly number[];
  /** Widths of the levels by the base: the first at full size, each next one at half the size of the one before. */
  multipliers: readonly number[];
  /** Widths, by the base, of the blocks behind the smallest level. */
  middleMultipliers: readonly number[];
  /** Convolutions of a block, each with its batch norm and activation. */
  convsPerBlock: number;
  /** Heads of every attention. */
  heads: number;
  /** Inner width of feed-forwards, by their channels. */
  feedForwardFactor: number;
  /** Sines and cosines that the noise level is told by. */
  timeChannels: number;
  /** Width of the attention between the frame and the previous one. */
  temporalChannels: number;
  /** Side of the squares of pixels whose means that attention sees. */
  temporalStride: number;
}

/**
 * The model of 880.26 million parameters that real-time work is measured on: 285 GFLOP for two pictures of 64×64. What its description leaves
 * open (where widths are halved, how the noise level is told, what the part over two frames is) is the reading whose sizes meet both numbers.
 */
export const REFERENCE_UNET_CHAIN: UnetChainConfig = {
  channels: 3,
  baseChannels: [192, 96],
  multipliers: [1, 2, 4, 8, 16],
  middleMultipliers: [4, 4],
  convsPerBlock: 4,
  heads: 16,
  feedForwardFactor: 4,
  timeChannels: 256,
  temporalChannels: 192,
  temporalStride: 4,
};

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MAX_WIDTH;

function fail(key: string, expected: string, got: unknown): never {
  throw new VdError({ code: "attr", where: `unetChain] [${key}`, expected, got: String(got) });
}

/** Widths of the attentions of a U-Net: behind each smaller level on the way down, and behind each but the last on the way up. */
export const attentionWidths = ({ multipliers }: UnetChainConfig, base: number): number[] =>
  [...multipliers.slice(1), ...multipliers.slice(0, -2)].map((factor) => factor * base);

/**
 * Checks a configuration.
 *
 * @throws VdError `attr` for a size that is none, and for heads that do not divide a width
 */
export function checkUnetChainConfig(config: UnetChainConfig): void {
  requireOptions("unetChain", config);
  const { baseChannels, multipliers, middleMultipliers, heads, timeChannels, temporalChannels } = config;
  const { channels, convsPerBlock, feedForwardFactor, temporalStride } = config;
  const counts = { channels, convsPerBlock, heads, feedForwardFactor, timeChannels, temporalChannels, temporalStride };
  for (const [key, value] of Object.entries(counts))
    if (!isCount(value)) fail(key, `a whole number from 1 to ${MAX_WIDTH}`, value);
  const lists: [string, readonly number[], number][] = [
    ["baseChannels", baseChannels, 1],
    ["multipliers", multipliers, 2],
    ["middleMultipliers", middleMultipliers, 0],
  ];
  for (const [key, list, least] of lists)
    if (!Array.isArray(list) || list.length < least || list.length > MAX_LEVELS || !list.every(isCount))
      fail(key, `${least} to ${MAX_LEVELS} whole numbers above 0`, list);
  if (timeChannels % 2 !== 0) fail("timeChannels", "an even number", timeChannels);
  const widths = [temporalChannels, ...baseChannels.flatMap((base) => attentionWidths(config, base))];
  const other = widths.find((width) => width % heads !== 0);
  if (other !== undefined) fail("heads", `a divisor of ${other}`, heads);
}

/** Pixels that height and width must be multiples of. */
export function unetChainStep(config: UnetChainConfig): number {
  checkUnetChainConfig(config);
  const { multipliers, temporalStride } = config;
  const halved = 2 ** (multipliers.length - 1);
  return halved % temporalStride === 0 ? halved : halved * temporalStride;
}
