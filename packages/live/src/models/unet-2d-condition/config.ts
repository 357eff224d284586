import { MAX_LAYERS } from "@vd/tensor";
import { ConfigReader } from "../config-reader";

/** One level of the network, from full size down. */
export interface ConditionLevel {
  channels: number;
  /** Heads of its transformers. */
  heads: number;
  /** Residual blocks on the way down; one more on the way up. */
  layers: number;
  /** Blocks of each of its transformers. */
  depth: number;
  crossAttentionDim: number;
  /** Whether the way down, and the way up, has transformers. */
  downAttention: boolean;
  upAttention: boolean;
}

/** What `unet/config.json` says of a UNet2DConditionModel. */
export interface Unet2dConditionConfig {
  /** Height and width of the latents that it was trained for, if the file says. */
  sampleSize: readonly [height: number, width: number] | undefined;
  inChannels: number;
  outChannels: number;
  levels: readonly ConditionLevel[];
  normGroups: number;
  normEps: number;
  midBlockScaleFactor: number;
  downsamplePadding: 0 | 1;
  /** Sines before cosines in the timestep's embedding. */
  sinesFirst: boolean;
  freqShift: number;
  /** Whether transformers project by matrices; else by 1×1 convolutions, which are the same numbers in another shape. */
  linearProjection: boolean;
  /** Channels of the embedding of the guidance scale, as consistency models have it; undefined: none. */
  guidanceChannels: number | undefined;
}

const DOWN: Readonly<Record<string, boolean>> = { DownBlock2D: false, CrossAttnDownBlock2D: true };
const UP: Readonly<Record<string, boolean>> = { UpBlock2D: false, CrossAttnUpBlock2D: true };

/** Keys, each with its values that are built here, the class's default first. */
const BUILT: readonly (readonly [key: string, ...values: unknown[]])[] = [
  ["act_fn", "silu", "swish"],
  ["mid_block_type", "UNetMidBlock2DCrossAttn"],
  ["center_input_sample", false],
  ["only_cross_attention", false],
  ["dual_cross_attention", false],
  ["resnet_time_scale_shift", "default"],
  ["resnet_out_scale_factor", 1],
  ["time_embedding_type", "positional"],
  ["time_embedding_dim", null],
  ["time_embedding_act_fn", null],
  ["timestep_post_act", null],
  ["conv_in_kernel", 3],
  ["conv_out_kernel", 3],
  ["class_embed_type", null],
  ["num_class_embeds", null],
  ["addition_embed_type", null],
  ["encoder_hid_dim", null],
  ["encoder_hid_dim_type", null],
  ["attention_type", "default"],
  ["class_embeddings_concat", false],
  ["mid_block_only_cross_attention", null, false],
  ["cross_attention_norm", null],
  ["reverse_transformer_layers_per_block", null],
];

/** The levels; a config's single number counts for all of them. */
function readLevels(read: ConfigReader): ConditionLevel[] {
  const widths = read.counts("block_out_channels", [320, 640, 1280, 1280]);
  const levels = widths.length;
  const down = read.kinds("down_block_types", DOWN, levels, [
    ...Array(levels - 1).fill("CrossAttnDownBlock2D"),
    "DownBlock2D",
  ]);
  const up = read.kinds("up_block_types", UP, levels, ["UpBlock2D", ...Array(levels - 1).fill("CrossAttnUpBlock2D")]);
  const layers = read.perLevel("layers_per_block", 2, levels, MAX_LAYERS);
  const depths = read.perLevel("transformer_layers_per_block", 1, levels, MAX_LAYERS);
  const context = read.perLevel("cross_attention_dim", 1280, levels);
  // The class takes `attention_head_dim` for the number of heads, so that files of that time go on to mean what they meant.
  const headsKey = read.value("num_attention_heads", null) === null ? "attention_head_dim" : "num_attention_heads";
  const heads = read.perLevel(headsKey, 8, levels);
  return widths.map((channels, i): ConditionLevel => {
    const level = {
      ...{ channels, heads: heads[i]!, layers: layers[i]!, depth: depths[i]!, crossAttentionDim: context[i]! },
      downAttention: down[i]!,
      upAttention: up[levels - 1 - i]!,
    };
    const attends = level.downAttention || level.upAttention || i === levels - 1;
    if (attends && channels % level.heads !== 0)
      read.fail(headsKey, `a divisor of its level's width, ${channels}`, level.heads);
    return level;
  });
}

/**
 * Parses `unet/config.json` of a UNet2DConditionModel as Stable Diffusion 1 and 2, their turbo and consistency models have it;
 * missing keys take the reference's defaults. where: the file, for messages.
 * Source: huggingface/diffusers@58eb52c unets/unet_2d_condition.py.
 *
 * @throws VdError `weights`, `unsupported` for parts that are not built here
 */
export function parseUnet2dConditionConfig(
  json: Record<string, unknown>,
  where = "unet/config.json",
): Unet2dConditionConfig {
  const read = new ConfigReader(json, where);
  for (const [key, ...values] of BUILT) read.oneBuilt(key, values);
  const levels = readLevels(read);
  const normGroups = read.count("norm_num_groups", 32);
  const odd = levels.find(({ channels }) => channels % normGroups !== 0);
  if (odd) read.fail("norm_num_groups", `a divisor of every width, such as ${odd.channels}`, normGroups);
  const guidance = read.value("time_cond_proj_dim", null);
  return {
    sampleSize: read.sampleSize(),
    inChannels: read.count("in_channels", 4),
    outChannels: read.count("out_channels", 4),
    levels,
    normGroups,
    normEps: read.number("norm_eps", 1e-5, (eps) => eps > 0),
    midBlockScaleFactor: read.number("mid_block_scale_factor", 1, (factor) => factor > 0),
    downsamplePadding: read.oneOf("downsample_padding", [0, 1] as const, 1),
    sinesFirst: !read.flag("flip_sin_to_cos", true),
    freqShift: read.number("freq_shift", 0, (shift) => shift >= 0 && shift < levels[0]!.channels / 2),
    linearProjection: read.flag("use_linear_projection", false),
    guidanceChannels: guidance === null ? undefined : read.count("time_cond_proj_dim", 256),
  };
}
