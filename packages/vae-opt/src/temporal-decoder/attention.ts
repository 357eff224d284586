import { groupNorm, type Module, pixels, selfAttention, tokens, type Weights } from "@vd/tensor";

/** Attention within pictures, as the middle blocks have it: one head over all channels, biases on q, k and v, its input added.
 *  x: [B,F,H,W,C] → the same shape. Source: huggingface/diffusers@58eb52c models/attention_processor.py. */
export function imageAttention(w: Weights, channels: number): Module {
  const norm = groupNorm(w.at("group_norm"), { channels, eps: 1e-6 });
  const attention = selfAttention(w, { channels, heads: 1, qkvBias: true });
  return (g, x) => {
    const y = attention(g, tokens(norm(g, x)), "space", { residual: tokens(x) });
    const result = pixels(y, x.dims[2]!, x.dims[3]!);
    g.tap(w.path, result);
    return result;
  };
}
