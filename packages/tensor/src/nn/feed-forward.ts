import { COUNT } from "@vd/kernels-native";
import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { MAYBE, requireLayer } from "./layer";
import { linear } from "./linear";
import type { EpilogueOptions, Module } from "./module";

/** Shape of a gated feed-forward layer; inner defaults to four times the channels. */
export interface FeedForwardConfig {
  channels: number;
  /** Channels of the result; default: as many as come in. */
  cout?: number;
  inner?: number;
  /** What the second half of the first product goes through before it multiplies the first: gelu or silu. Default geglu. */
  act?: "geglu" | "swiglu";
  /** Whether the checkpoint has biases; default true. */
  bias?: boolean;
}

const FEED_FORWARD = { channels: COUNT, cout: MAYBE.count, inner: MAYBE.count, bias: MAYBE.flag };

/** Linear, GEGLU or SwiGLU, linear. x: [B,F,S,C] → [B,F,S,cout].
 *  Source: https://arxiv.org/abs/2002.05202; huggingface/diffusers@58eb52c models/attention.py FeedForward. */
export function feedForward(w: Weights, config: FeedForwardConfig): Module<[x: Tensor, epilogue?: EpilogueOptions]> {
  requireLayer("feedForward", w, config, FEED_FORWARD);
  const { channels, cout = channels, inner = 4 * channels, act = "geglu", bias: hasBias = true } = config;
  const gate = w.at("net.0.proj");
  const weight = gate.tensor("weight", [2 * inner, channels]);
  const bias = hasBias ? gate.tensor("bias", [2 * inner]) : undefined;
  const project = linear(w.at("net.2"), { cin: inner, cout, bias: hasBias });
  return (g, x, epilogue) => project(g, g.linear({ name: gate.path, x, weight, bias, act }), epilogue);
}
