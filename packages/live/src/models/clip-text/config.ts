import { CLIP_ACTIVATIONS, type ClipLayerConfig, MAX_LAYERS } from "@vd/tensor";
import { ConfigReader } from "../config-reader";

/** What `text_encoder/config.json` says of a CLIPTextModel. */
export interface ClipTextConfig extends ClipLayerConfig {
  vocabSize: number;
  numLayers: number;
  /** Tokens of a text, its begin and end among them. */
  maxTokens: number;
}

/**
 * Parses `text_encoder/config.json`; missing keys take the reference's defaults. where: the file, for messages.
 * Source: transformers models/clip/configuration_clip.py CLIPTextConfig.
 *
 * @throws VdError `weights`
 */
export function parseClipTextConfig(json: Record<string, unknown>, where = "text_encoder/config.json"): ClipTextConfig {
  const read = new ConfigReader(json, where);
  const hiddenSize = read.count("hidden_size", 512);
  const numHeads = read.count("num_attention_heads", 8);
  if (hiddenSize % numHeads !== 0) read.fail("num_attention_heads", `a divisor of ${hiddenSize}`, numHeads);
  const name = read.oneOf("hidden_act", Object.keys(CLIP_ACTIVATIONS), "quick_gelu");
  return {
    hiddenSize,
    numHeads,
    vocabSize: read.count("vocab_size", 49408),
    intermediateSize: read.count("intermediate_size", 2048),
    numLayers: read.count("num_hidden_layers", 12, MAX_LAYERS),
    maxTokens: read.count("max_position_embeddings", 77, 4096),
    act: CLIP_ACTIVATIONS[name]!,
    layerNormEps: read.number("layer_norm_eps", 1e-5, (eps) => eps > 0),
    causal: true,
  };
}
