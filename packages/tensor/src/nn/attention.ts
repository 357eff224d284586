import { COUNT, requireFields, TEXT } from "@vd/kernels-native";
import { channelRange, type Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { MAYBE, requireLayer } from "./layer";
import { linear } from "./linear";
import type { EpilogueOptions, Module } from "./module";

/** Shape of an attention layer. */
export interface AttentionConfig {
  channels: number;
  heads: number;
  /** Whether q, k and v have biases; default false. */
  qkvBias?: boolean;
  /** Channels of the context for cross-attention; default: self-attention. */
  contextChannels?: number;
  /** Of self-attention: whether a token sees only itself and those before it; default false. */
  causal?: boolean;
  /** Names of the projections in the checkpoint. */
  names?: { q: string; k: string; v: string; out: string };
}

/** The names of diffusers' Attention. */
const DIFFUSERS_NAMES = { q: "to_q", k: "to_k", v: "to_v", out: "to_out.0" };

const ATTENTION = {
  ...{ channels: COUNT, heads: COUNT, contextChannels: MAYBE.count },
  ...{ qkvBias: MAYBE.flag, causal: MAYBE.flag },
};

const scaleOf = ({ channels, heads }: AttentionConfig) => 1 / Math.sqrt(channels / heads);

/** Attention of tokens to each other, q, k and v by one product. x: [B,F,S,C] → [B,F,S,C]; over `space` the tokens of a
 *  frame see each other, over `time` a token sees itself in other frames.
 *  Source: huggingface/diffusers@58eb52c models/attention_processor.py. */
export function selfAttention(
  w: Weights,
  config: AttentionConfig,
): Module<[x: Tensor, axis: "space" | "time", epilogue?: EpilogueOptions]> {
  requireLayer("selfAttention", w, config, ATTENTION);
  const { channels, heads, qkvBias = false, causal = false, names = DIFFUSERS_NAMES } = config;
  requireFields("selfAttention] [names", names, { q: TEXT, k: TEXT, v: TEXT, out: TEXT });
  const parts = [names.q, names.k, names.v];
  const weight = w.stackRows(
    parts.map((part) => `${part}.weight`),
    [channels, channels],
  );
  const bias = qkvBias
    ? w.stackRows(
        parts.map((part) => `${part}.bias`),
        [channels],
      )
    : undefined;
  const out = linear(w.at(names.out), { cin: channels, cout: channels });
  return (g, x, axis, epilogue) => {
    const qkv = g.linear({ name: `${w.path}.qkv`, x, weight, bias }); // [B,F,S,3C]
    const [q, k, v] = [0, 1, 2].map((i) => channelRange(qkv, i * channels, (i + 1) * channels)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const y = g.attention({ name: `${w.path}.attention`, q, k, v, axis, heads, scale: scaleOf(config), causal });
    return out(g, y, epilogue);
  };
}

/** Attention to a context in two parts: what follows from the context alone can be computed once for many queries. */
export interface CrossAttentionParts {
  /** Keys, then values. context: [B,1|F,L,contextChannels] → [B,1|F,L,2C]. */
  keysAndValues: Module<[context: Tensor, epilogue?: EpilogueOptions]>;
  /** x: [B,F,S,C], kv: of {@link keysAndValues} → [B,F,S,C]. */
  attend: Module<[x: Tensor, kv: Tensor, epilogue?: EpilogueOptions]>;
}

/** Makes both parts of an attention to a context. */
export function crossAttentionParts(w: Weights, config: AttentionConfig): CrossAttentionParts {
  requireLayer("crossAttention", w, config, ATTENTION);
  const { channels, heads, contextChannels = channels } = config;
  const query = linear(w.at("to_q"), { cin: channels, cout: channels, bias: false });
  const weight = w.stackRows(["to_k.weight", "to_v.weight"], [channels, contextChannels]);
  const out = linear(w.at("to_out.0"), { cin: channels, cout: channels });
  return {
    keysAndValues: (g, context, epilogue = {}) => g.linear({ name: `${w.path}.kv`, x: context, weight, ...epilogue }),
    attend: (g, x, kv, epilogue) => {
      const [k, v] = [channelRange(kv, 0, channels), channelRange(kv, channels, 2 * channels)];
      const y = g.attention({ name: `${w.path}.attention`, q: query(g, x), k, v, heads, scale: scaleOf(config) });
      return out(g, y, epilogue);
    },
  };
}

/** Attention of tokens to a context. x: [B,F,S,C], context: [B,1|F,L,contextChannels] → [B,F,S,C]. */
export function crossAttention(
  w: Weights,
  config: AttentionConfig,
): Module<[x: Tensor, context: Tensor, epilogue?: EpilogueOptions]> {
  const { keysAndValues, attend } = crossAttentionParts(w, config);
  return (g, x, context, epilogue) => attend(g, x, keysAndValues(g, context), epilogue);
}

/** Cross-attention to a single token: softmax over one key is 1, so the result is one vector per clip whatever the
 *  queries are. context: [B,1,1,contextChannels] → [B,1,1,C]. Exact. The weights of q and k go unused. */
export function oneTokenCrossAttention(
  w: Weights,
  config: AttentionConfig,
): Module<[context: Tensor, epilogue?: EpilogueOptions]> {
  requireLayer("oneTokenCrossAttention", w, config, ATTENTION);
  const { channels, contextChannels = channels } = config;
  for (const [name, cin] of [
    ["to_q", channels],
    ["to_k", contextChannels],
  ] as const)
    w.tensor(`${name}.weight`, [channels, cin]);
  const value = linear(w.at("to_v"), { cin: contextChannels, cout: channels, bias: false });
  const out = linear(w.at("to_out.0"), { cin: channels, cout: channels });
  return (g, context, epilogue) => out(g, value(g, context), epilogue);
}
