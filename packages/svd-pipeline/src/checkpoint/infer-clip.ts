import { type Shapes, sizeOf } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import { clipLayersOfDiffusers } from "./clip-names";
import type { ConfigJson, InferenceOptions } from "./infer-configs";

/** Heads of the published encoders whose heads are not 64 wide. Source: mlfoundations/open_clip src/open_clip/model_configs. */
const HEADS_BY_WIDTH: Readonly<Record<number, number>> = { 1280: 16, 1408: 16, 1664: 16, 1792: 16 };
const HEAD_WIDTH = 64;

/**
 * `image_encoder/config.json` from shapes.
 *
 * @throws VdError `weights` where shapes fit no square picture or no heads
 */
export function inferClipConfig(shapes: Shapes, { clipHeads, clipActivation = "gelu" }: InferenceOptions): ConfigJson {
  const hidden = sizeOf(shapes, "vision_model.embeddings.class_embedding", 0);
  const patch = sizeOf(shapes, "vision_model.embeddings.patch_embedding.weight", 2);
  const numPositions = sizeOf(shapes, "vision_model.embeddings.position_embedding.weight", 0);
  const patchesPerSide = Math.sqrt(numPositions - 1);
  if (!Number.isInteger(patchesPerSide)) {
    throw misfit("position_embedding", "one position more than a square number", numPositions);
  }
  const heads = clipHeads ?? HEADS_BY_WIDTH[hidden] ?? Math.max(1, hidden / HEAD_WIDTH);
  if (!Number.isInteger(heads)) throw misfit("num_attention_heads", `a width that divides by ${HEAD_WIDTH}`, hidden);
  return {
    architectures: ["CLIPVisionModelWithProjection"],
    hidden_act: clipActivation,
    hidden_size: hidden,
    image_size: patchesPerSide * patch,
    intermediate_size: sizeOf(shapes, "vision_model.encoder.layers.0.mlp.fc1.weight", 0),
    layer_norm_eps: 1e-5,
    model_type: "clip_vision_model",
    num_attention_heads: heads,
    num_channels: sizeOf(shapes, "vision_model.embeddings.patch_embedding.weight", 1),
    num_hidden_layers: clipLayersOfDiffusers(new Set(shapes.keys())),
    patch_size: patch,
    projection_dim: sizeOf(shapes, "visual_projection.weight", 0),
  };
}

function misfit(where: string, expected: string, got: number): VdError {
  return new VdError({
    code: "weights",
    where,
    expected,
    got: String(got),
    hint: "The checkpoint is damaged, or of another kind of model.",
  });
}
