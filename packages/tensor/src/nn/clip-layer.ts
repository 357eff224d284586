import { COUNT } from "@vd/kernels-native";
import type { Weights } from "../weights/weights";
import { selfAttention } from "./attention";
import { EPS, requireLayer } from "./layer";
import { linear } from "./linear";
import type { EpilogueOptions, Module } from "./module";
import { layerNorm } from "./norm";

/** Shape of a layer of CLIP's encoders. */
export interface ClipLayerConfig {
  hiddenSize: number;
  intermediateSize: number;
  numHeads: number;
  act: NonNullable<EpilogueOptions["act"]>;
  layerNormEps: number;
  /** Whether a token sees only itself and those before it, as in the text encoder; default false. */
  causal?: boolean;
}

/** Activations by the names that configurations of CLIP have for them (`hidden_act`). */
export const CLIP_ACTIVATIONS: Readonly<Record<string, ClipLayerConfig["act"]>> = {
  gelu: "gelu",
  gelu_python: "gelu",
  quick_gelu: "quick_gelu",
  gelu_new: "gelu_tanh",
  gelu_fast: "gelu_tanh",
  gelu_accurate: "gelu_tanh",
  gelu_pytorch_tanh: "gelu_tanh",
  silu: "silu",
  swish: "silu",
};

const NAMES = { q: "q_proj", k: "k_proj", v: "v_proj", out: "out_proj" };

const CLIP_LAYER = { hiddenSize: COUNT, intermediateSize: COUNT, numHeads: COUNT, layerNormEps: EPS };

/** One layer of CLIP's picture or text encoder. x: [B,1,S,C] → the same shape. Source: transformers modeling_clip.py CLIPEncoderLayer. */
export function clipLayer(w: Weights, config: ClipLayerConfig): Module {
  requireLayer("clipLayer", w, config, CLIP_LAYER);
  const { hiddenSize: channels, intermediateSize, numHeads: heads, act, layerNormEps: eps, causal = false } = config;
  const norm1 = layerNorm(w.at("layer_norm1"), { channels, eps });
  const attentionScope = w.at("self_attn");
  const attention = selfAttention(attentionScope, { channels, heads, qkvBias: true, names: NAMES, causal });
  const norm2 = layerNorm(w.at("layer_norm2"), { channels, eps });
  const mlpScope = w.at("mlp");
  const up = linear(mlpScope.at("fc1"), { cin: channels, cout: intermediateSize });
  const down = linear(mlpScope.at("fc2"), { cin: intermediateSize, cout: channels });
  return (g, x) => {
    const normed = norm1(g, x);
    g.tap(attentionScope.path, () => attention(g, normed, "space"));
    const h = attention(g, normed, "space", { residual: x });
    const inner = up(g, norm2(g, h), { act });
    g.tap(mlpScope.path, () => down(g, inner));
    const y = down(g, inner, { residual: h });
    g.tap(w.path, y);
    return y;
  };
}
