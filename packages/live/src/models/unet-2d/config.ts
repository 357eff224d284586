import { shownJson } from "@vd/kernels-native";
import { MAX_LAYERS } from "@vd/tensor";
import { ConfigReader } from "../config-reader";

/** What `unet/config.json` says of a UNet2DModel. */
export interface Unet2dConfig {
  /** Height and width that it was trained for, if the file says. */
  sampleSize: readonly [height: number, width: number] | undefined;
  inChannels: number;
  outChannels: number;
  centerInputSample: boolean;
  /** Sines before cosines in the timestep's embedding. */
  sinesFirst: boolean;
  freqShift: number;
  timeEmbeddingDim: number;
  /** Channels per level, from full size down. */
  blockOutChannels: readonly number[];
  /** Whether the level's down block has attention. */
  downAttention: readonly boolean[];
  /** Whether the up block has attention, from the smallest level up. */
  upAttention: readonly boolean[];
  midAttention: boolean;
  layersPerBlock: number;
  midBlockScaleFactor: number;
  downsamplePadding: 0 | 1;
  /** Channels of a head; undefined: one head. */
  attentionHeadDim: number | undefined;
  normGroups: number;
  /** Groups of the norm before the middle's attention; undefined: no norm. */
  midAttentionGroups: number | undefined;
  normEps: number;
  timeScaleShift: "default" | "scale_shift";
  /** Rows of the class embedding; 0 without. */
  numClassEmbeds: number;
}

type Json = Record<string, unknown>;

const DOWN: Readonly<Record<string, boolean>> = { DownBlock2D: false, AttnDownBlock2D: true };
const UP: Readonly<Record<string, boolean>> = { UpBlock2D: false, AttnUpBlock2D: true };

/** Values of keys whose other values no code here computes. */
const FIXED: readonly (readonly [key: string, value: unknown])[] = [
  ["act_fn", "silu"],
  ["time_embedding_type", "positional"],
  ["downsample_type", "conv"],
  ["upsample_type", "conv"],
  ["class_embed_type", null],
];

function requireDivides(read: ConfigReader, key: string, parts: number, channels: readonly number[]): void {
  const odd = channels.find((width) => width % parts !== 0);
  if (odd !== undefined) read.fail(key, `a divisor of every width in block_out_channels, such as ${odd}`, parts);
}

/** Groups of the norm before the middle's attention. Source: huggingface/diffusers@58eb52c unet_2d_blocks.py UNetMidBlock2D. */
function midAttentionGroups(read: ConfigReader, normGroups: number, shift: string): number | undefined {
  if (read.value("attn_norm_num_groups", null) !== null) return read.count("attn_norm_num_groups", 1);
  return shift === "default" ? normGroups : undefined;
}

/**
 * Parses `unet/config.json` of a UNet2DModel; missing keys take the reference's defaults. where: the file, for messages.
 * Source: huggingface/diffusers@58eb52c unets/unet_2d.py.
 *
 * @throws VdError `weights`, `unsupported` for parts that are not built here
 */
export function parseUnet2dConfig(json: Json, where = "unet/config.json"): Unet2dConfig {
  const read = new ConfigReader(json, where);
  for (const [key, value] of FIXED)
    if (read.value(key, value) !== value) read.fail(key, shownJson(value), json[key], "unsupported");
  const mid = read.value("mid_block_type", "UNetMidBlock2D");
  if (mid !== "UNetMidBlock2D") read.fail("mid_block_type", "UNetMidBlock2D", mid, "unsupported");
  const blockOutChannels = read.counts("block_out_channels", [224, 448, 672, 896]);
  const levels = blockOutChannels.length;
  const normGroups = read.count("norm_num_groups", 32);
  requireDivides(read, "norm_num_groups", normGroups, blockOutChannels);
  const timeScaleShift = read.oneOf("resnet_time_scale_shift", ["default", "scale_shift"] as const, "default");
  // Null is one head of all channels; where the key is missing, the class has heads of 8.
  const attentionHeadDim = json.attention_head_dim === null ? undefined : read.count("attention_head_dim", 8);
  const config: Unet2dConfig = {
    sampleSize: read.sampleSize(),
    inChannels: read.count("in_channels", 3),
    outChannels: read.count("out_channels", 3),
    centerInputSample: read.flag("center_input_sample", false),
    sinesFirst: !read.flag("flip_sin_to_cos", true),
    freqShift: read.number("freq_shift", 0, (shift) => shift >= 0 && shift < blockOutChannels[0]! / 2),
    timeEmbeddingDim: read.count("time_embedding_dim", 4 * blockOutChannels[0]!),
    blockOutChannels,
    downAttention: read.kinds("down_block_types", DOWN, levels),
    upAttention: read.kinds("up_block_types", UP, levels),
    midAttention: read.flag("add_attention", true),
    layersPerBlock: read.count("layers_per_block", 2, MAX_LAYERS),
    midBlockScaleFactor: read.number("mid_block_scale_factor", 1, (factor) => factor > 0),
    downsamplePadding: read.oneOf("downsample_padding", [0, 1] as const, 1),
    attentionHeadDim,
    normGroups,
    midAttentionGroups: midAttentionGroups(read, normGroups, timeScaleShift),
    normEps: read.number("norm_eps", 1e-5, (eps) => eps > 0),
    timeScaleShift,
    numClassEmbeds: read.value("num_class_embeds", null) === null ? 0 : read.count("num_class_embeds", 1),
  };
  checkHeads(read, config);
  return config;
}

/** The widths that attention works on must be whole heads. */
function checkHeads(read: ConfigReader, config: Unet2dConfig): void {
  const { blockOutChannels: widths, attentionHeadDim, downAttention, upAttention, midAttention } = config;
  if (attentionHeadDim === undefined) return;
  const last = widths.length - 1;
  const attended = widths.filter(
    (_, level) => downAttention[level] || upAttention[last - level] || (midAttention && level === last),
  );
  requireDivides(read, "attention_head_dim", attentionHeadDim, attended);
}
