import {
  channelRange,
  crossAttentionParts,
  feedForward,
  type Graph,
  groupNorm,
  layerNorm,
  type Module,
  type Pausable,
  pixels,
  reshape,
  type SharedChannels,
  selfAttention,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";

/** Shape of a transformer over a picture's pixels and a text. */
export interface TextTransformerConfig {
  channels: number;
  heads: number;
  depth: number;
  crossAttentionDim: number;
  normGroups: number;
  linearProjection: boolean;
}

/** Keys and values of the text for every transformer block, [B,1|F,L,width], made of the text's states [B,1|F,L,D]. */
export type SharedText = SharedChannels<Tensor>;

/** Self-attention, attention to the text, feed-forward. x: [B,F,S,C], text: of {@link SharedText} → the same shape as x.
 *  Source: huggingface/diffusers@58eb52c models/attention.py BasicTransformerBlock. */
function transformerBlock(
  w: Weights,
  config: TextTransformerConfig,
  shared: SharedText,
): Module<[x: Tensor, text: Tensor]> {
  const { channels, heads, crossAttentionDim: contextChannels } = config;
  const norm1 = layerNorm(w.at("norm1"), { channels });
  const attend = selfAttention(w.at("attn1"), { channels, heads });
  const norm2 = layerNorm(w.at("norm2"), { channels });
  const cross = crossAttentionParts(w.at("attn2"), { channels, heads, contextChannels });
  const { begin, end } = shared.reserve(2 * channels, (g, text, out) => cross.keysAndValues(g, text, { out }));
  const norm3 = layerNorm(w.at("norm3"), { channels });
  const feed = feedForward(w.at("ff"), { channels });
  return (g, x, text) => {
    const attended = attend(g, norm1(g, x), "space", { residual: x });
    const h = cross.attend(g, norm2(g, attended), channelRange(text, begin, end), { residual: attended });
    const y = feed(g, norm3(g, h), { residual: h });
    g.tap(w.path, y);
    return y;
  };
}

/** A projection of all channels, stored as a matrix or as a 1×1 convolution. */
function projection(w: Weights, channels: number, isMatrix: boolean): Module<[x: Tensor, residual?: Tensor]> {
  const stored = w.tensor("weight", isMatrix ? [channels, channels] : [channels, channels, 1, 1]);
  const weight = reshape(stored, [channels, channels]);
  const bias = w.tensor("bias", [channels]);
  return (g, x, residual) => g.linear({ name: w.path, x, weight, bias, residual });
}

/** Group norm, projection, blocks, projection, its input added. Pauses between the blocks. x: [B,F,H,W,C] → the same shape.
 *  Source: huggingface/diffusers@58eb52c models/transformers/transformer_2d.py Transformer2DModel. */
export function textTransformer(
  w: Weights,
  config: TextTransformerConfig,
  shared: SharedText,
): (g: Graph, x: Tensor, text: Tensor) => Pausable<Tensor> {
  const { channels, depth, normGroups, linearProjection } = config;
  const norm = groupNorm(w.at("norm"), { channels, groups: normGroups, eps: 1e-6 });
  const projectIn = projection(w.at("proj_in"), channels, linearProjection);
  const blocks = Array.from({ length: depth }, (_, i) =>
    transformerBlock(w.at("transformer_blocks").at(i), config, shared),
  );
  const projectOut = projection(w.at("proj_out"), channels, linearProjection);
  return function* (g, x, text) {
    let h = projectIn(g, tokens(norm(g, x)));
    for (const block of blocks) {
      h = block(g, h, text);
      yield;
    }
    const y = pixels(projectOut(g, h, tokens(x)), x.dims[2]!, x.dims[3]!);
    g.tap(w.path, y);
    return y;
  };
}
