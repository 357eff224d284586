import { groupNorm, type Module, pixels, selfAttention, tokens, type Weights } from "@vd/tensor";

/** What differs between the autoencoders that have this attention. */
export interface ImageAttentionOptions {
  /** Groups of its norm; default as in `groupNorm`. */
  groups?: number;
}

/** The projections' names before diffusers renamed them in version 0.12. */
const OLD_NAMES = { q: "query", k: "key", v: "value", out: "proj_attn" };

/** Attention within pictures, as the middle blocks have it: one head over all channels, biases on q, k and v, its input added.
 *  x: [B,F,H,W,C] → the same shape. Source: huggingface/diffusers@58eb52c models/attention_processor.py. */
export function imageAttention(w: Weights, channels: number, options: ImageAttentionOptions = {}): Module {
  const norm = groupNorm(w.at("group_norm"), { channels, eps: 1e-6, ...options });
  const names = w.has("query.weight") ? { names: OLD_NAMES } : {};
  const attention = selfAttention(w, { channels, heads: 1, qkvBias: true, ...names });
  return (g, x) => {
    const y = attention(g, tokens(norm(g, x)), "space", { residual: tokens(x) });
    const result = pixels(y, x.dims[2]!, x.dims[3]!);
    g.tap(w.path, result);
    return result;
  };
}
