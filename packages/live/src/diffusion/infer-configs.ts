import { countBelow, oneOrList, type Shapes, sizeOf, type UnetLevel, unetLayoutOfDiffusers } from "@vd/hub";
import { inferVaeConfig } from "@vd/vae-opt";

type Config = Record<string, unknown>;

const attends = ({ depths }: UnetLevel) => depths.some((depth) => depth > 0);
const HEAD_CHANNELS = 64;
/** Heads of version 1, whatever the width. */
const HEADS = 8;

/** `unet/config.json` from shapes. Heads cannot be read off weights: version 2, which projects by matrices, has heads of 64 channels,
 *  version 1 has 8 heads. */
export function inferUnetConfig(shapes: Shapes): Config {
  const { down, middleDepth, up } = unetLayoutOfDiffusers(new Set(shapes.keys()));
  const widths = down.map((_, i) => sizeOf(shapes, `down_blocks.${i}.resnets.0.conv1.weight`, 0));
  const middle = "mid_block.attentions.0";
  const isLinear = shapes.get(`${middle}.proj_in.weight`)?.shape.length === 2;
  const depths = down.map(
    (level, i) => Math.max(...level.depths, ...(up[down.length - 1 - i]?.depths ?? [])) || middleDepth,
  );
  return {
    block_out_channels: widths,
    down_block_types: down.map((level) => (attends(level) ? "CrossAttnDownBlock2D" : "DownBlock2D")),
    up_block_types: up.map((level) => (attends(level) ? "CrossAttnUpBlock2D" : "UpBlock2D")),
    layers_per_block: oneOrList(down.map((level) => level.depths.length)),
    transformer_layers_per_block: oneOrList(depths),
    attention_head_dim: isLinear ? widths.map((width) => Math.max(1, width / HEAD_CHANNELS)) : HEADS,
    cross_attention_dim: sizeOf(shapes, `${middle}.transformer_blocks.0.attn2.to_k.weight`, 1),
    use_linear_projection: isLinear,
    in_channels: sizeOf(shapes, "conv_in.weight", 1),
    out_channels: sizeOf(shapes, "conv_out.weight", 0),
  };
}

/** `text_encoder/config.json` from shapes. isOpenClip: version 2's. */
export function inferTextConfig(shapes: Shapes, isOpenClip: boolean): Config {
  const embeddings = "text_model.embeddings";
  const width = sizeOf(shapes, `${embeddings}.token_embedding.weight`, 1);
  return {
    hidden_size: width,
    vocab_size: sizeOf(shapes, `${embeddings}.token_embedding.weight`, 0),
    max_position_embeddings: sizeOf(shapes, `${embeddings}.position_embedding.weight`, 0),
    intermediate_size: sizeOf(shapes, "text_model.encoder.layers.0.mlp.fc1.weight", 0),
    num_hidden_layers: countBelow(new Set(shapes.keys()), "text_model.encoder.layers."),
    num_attention_heads: Math.max(1, width / HEAD_CHANNELS),
    hidden_act: isOpenClip ? "gelu" : "quick_gelu",
  };
}

/** `vae/config.json` from shapes. */
export const inferPictureVaeConfig = (shapes: Shapes): Config => ({
  ...inferVaeConfig(shapes),
  _class_name: "AutoencoderKL",
});
