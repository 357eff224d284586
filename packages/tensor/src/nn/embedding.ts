import { COUNT } from "@vd/kernels-native";
import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { MAYBE, requireLayer } from "./layer";
import { linear } from "./linear";
import type { EpilogueOptions, Module } from "./module";

/** Shape of a two-layer embedding. */
export interface EmbeddingConfig {
  cin: number;
  inner: number;
  /** Default: inner. */
  cout?: number;
}

const EMBEDDING = { cin: COUNT, inner: COUNT, cout: MAYBE.count };

/** Linear, SiLU, linear. x: [B,F,S,cin] → [B,F,S,cout]; the epilogue is that of the second. Source: huggingface/diffusers@58eb52c models/embeddings.py TimestepEmbedding. */
export function embedding(w: Weights, config: EmbeddingConfig): Module<[x: Tensor, epilogue?: EpilogueOptions]> {
  requireLayer("embedding", w, config, EMBEDDING);
  const { cin, inner, cout = inner } = config;
  const first = linear(w.at("linear_1"), { cin, cout: inner });
  const second = linear(w.at("linear_2"), { cin: inner, cout });
  return (g, x, epilogue) => second(g, first(g, x, { act: "silu" }), epilogue);
}
