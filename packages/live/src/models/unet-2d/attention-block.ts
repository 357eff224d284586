import { groupNorm, type Module, pixels, selfAttention, type Tensor, tokens, type Weights } from "@vd/tensor";

/** Shape of attention over a picture's pixels. */
export interface AttentionBlockConfig {
  channels: number;
  heads: number;
  /** Groups of the norm before it; undefined: no norm. */
  groups: number | undefined;
  eps: number;
  /** Divides the sum of attention and input; default 1. */
  outputScaleFactor?: number;
}

/** What the projections were called before diffusers 0.15. */
const OLD_NAMES = { q: "query", k: "key", v: "value", out: "proj_attn" };

/** Attention of all pixels of a frame to each other, added to them. x: [B,F,H,W,C] → the same shape.
 *  Source: huggingface/diffusers@58eb52c models/attention_processor.py Attention with `residual_connection`. */
export function attentionBlock(w: Weights, config: AttentionBlockConfig): Module<[x: Tensor]> {
  const { channels, heads, groups, eps, outputScaleFactor = 1 } = config;
  const norm = groups === undefined ? undefined : groupNorm(w.at("group_norm"), { channels, groups, eps });
  const names = w.has("query.weight") ? { names: OLD_NAMES } : {};
  const attend = selfAttention(w, { channels, heads, qkvBias: true, ...names });
  const scale = 1 / outputScaleFactor;
  return (g, x) => {
    const normed = norm ? norm(g, x) : x;
    const y = attend(g, tokens(normed), "space", { residual: tokens(x), outScale: scale, residualScale: scale });
    const [, , height, width] = x.dims;
    return pixels(y, height!, width!);
  };
}
