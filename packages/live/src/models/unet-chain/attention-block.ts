import {
  channelRange,
  type Graph,
  layerNorm,
  linear,
  type Module,
  pixels,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";

/** Shape of an attention. */
export interface PackedAttentionConfig {
  channels: number;
  heads: number;
}

/**
 * Attention whose queries, keys and values are one product, as its weights are stored. x: [B,F,S,C] → [B,F,S,C] before the last product, over
 * the tokens of a frame or over the frames of a token. Source: torch.nn.MultiheadAttention.
 */
export function packedAttention(
  w: Weights,
  { channels, heads }: PackedAttentionConfig,
): Module<[x: Tensor, axis: "space" | "time"]> {
  const weight = w.tensor("in_proj_weight", [3 * channels, channels]);
  const bias = w.tensor("in_proj_bias", [3 * channels]);
  const scale = 1 / Math.sqrt(channels / heads);
  return (g, x, axis) => {
    const qkv = g.linear({ name: `${w.path}.in_proj`, x, weight, bias });
    const part = (i: number) => channelRange(qkv, i * channels, (i + 1) * channels);
    const [q, k, v] = [part(0), part(1), part(2)];
    return g.attention({ name: `${w.path}.attention`, q, k, v, axis, heads, scale });
  };
}

/** LayerNorm and attention of a picture's pixels to each other, then LayerNorm, linear, GELU, linear; each added to what came in.
 *  x: [B,F,H,W,C] → the same shape, in `out` if it is given. */
export function attentionBlock(
  w: Weights,
  { channels, heads, inner }: PackedAttentionConfig & { inner: number },
): Module<[x: Tensor, out?: Tensor]> {
  const [norm, feedNorm] = [layerNorm(w.at("norm"), { channels }), layerNorm(w.at("ff.norm"), { channels })];
  const attend = packedAttention(w.at("attention"), { channels, heads });
  const project = linear(w.at("attention.out_proj"), { cin: channels, cout: channels });
  const widen = linear(w.at("ff.0"), { cin: channels, cout: inner });
  const narrow = linear(w.at("ff.1"), { cin: inner, cout: channels });
  return (g: Graph, x, out) => {
    const residual = tokens(x);
    const seen = project(g, attend(g, norm(g, residual), "space"), { residual });
    const wide = widen(g, feedNorm(g, seen), { act: "gelu" });
    const y = narrow(g, wide, { residual: seen, out: out && tokens(out) });
    const shaped = pixels(y, x.dims[2]!, x.dims[3]!);
    g.tap(w.path, shaped);
    return shaped;
  };
}
