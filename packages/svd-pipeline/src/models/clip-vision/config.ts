import { OBJECT, requireArgument, shownJson, VdError } from "@vd/kernels-native";
import { CLIP_ACTIVATIONS, type ClipLayerConfig, MAX_LAYERS, MAX_WIDTH } from "@vd/tensor";

/** What `image_encoder/config.json` says of a CLIPVisionModelWithProjection. */
export interface ClipVisionConfig {
  hiddenSize: number;
  intermediateSize: number;
  projectionDim: number;
  numLayers: number;
  numHeads: number;
  /** Of the input picture: 3 for RGB. */
  numChannels: number;
  /** Pixels per side of the input picture and of a patch. */
  imageSize: number;
  patchSize: number;
  act: ClipLayerConfig["act"];
  layerNormEps: number;
}

type Json = Record<string, unknown>;

/**
 * Parses `image_encoder/config.json`; missing keys take the reference's defaults. where: the file, for messages.
 * Source: transformers models/clip/configuration_clip.py CLIPVisionConfig.
 *
 * @throws VdError `weights`
 */
export function parseClipVisionConfig(json: Json, where = "image_encoder/config.json"): ClipVisionConfig {
  requireArgument(where, json, { ...OBJECT, code: "weights" });
  const fail = (key: string, expected: string): never => {
    throw new VdError({
      code: "weights",
      where: `${where}] [${key}`,
      expected,
      got: shownJson(json[key]),
    });
  };
  const int = (key: string, fallback: number, max = MAX_WIDTH): number => {
    const value = json[key] ?? fallback;
    return typeof value === "number" && Number.isInteger(value) && value > 0 && value <= max
      ? value
      : fail(key, `a positive whole number of at most ${max}`);
  };
  const name = json.hidden_act ?? "quick_gelu";
  const act = typeof name === "string" && Object.hasOwn(CLIP_ACTIVATIONS, name) ? CLIP_ACTIVATIONS[name] : undefined;
  const eps = json.layer_norm_eps ?? 1e-5;
  const config: ClipVisionConfig = {
    hiddenSize: int("hidden_size", 768),
    intermediateSize: int("intermediate_size", 3072),
    projectionDim: int("projection_dim", 512),
    numLayers: int("num_hidden_layers", 12, MAX_LAYERS),
    numHeads: int("num_attention_heads", 12),
    numChannels: int("num_channels", 3),
    imageSize: int("image_size", 224),
    patchSize: int("patch_size", 32),
    act: act ?? fail("hidden_act", `one of ${Object.keys(CLIP_ACTIVATIONS).join(", ")}`),
    layerNormEps:
      typeof eps === "number" && eps > 0 && eps < Infinity ? eps : fail("layer_norm_eps", "a positive number"),
  };
  if (config.hiddenSize % config.numHeads !== 0) fail("num_attention_heads", `a divisor of ${config.hiddenSize}`);
  if (config.patchSize > 64) fail("patch_size", "at most 64");
  return config;
}
