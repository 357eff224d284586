import { COUNT, countOf, VdError } from "@vd/kernels-native";
import {
  clipLayer,
  decodeStored,
  elementBytes,
  type Graph,
  layerNorm,
  type PausableModule,
  pausable,
  requireLayer,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import type { ClipTextConfig } from "./config";

/** CLIP's text encoder. */
export interface ClipText {
  readonly config: ClipTextConfig;
  /**
   * Looks up what {@link encode} takes. tokens: as many as the model has places → [maxTokens, C].
   *
   * @throws VdError `attr` for another number of tokens, or one that the vocabulary does not have
   */
  embed(tokens: readonly number[]): Float32Array;
  /** Embedded texts to states behind the last norm: [1,F,L,C] → the same shape. */
  readonly encode: PausableModule;
}

/** One row of a weight of two dimensions, as float32. */
function rowOf({ storage, byteOffset, dims, dtype }: Tensor, row: number): Float32Array {
  const bytes = dims[1]! * elementBytes(dtype);
  const { buffer, byteOffset: base } = storage.place!;
  return decodeStored(buffer.readSync(new Uint8Array(bytes), base + byteOffset + row * bytes), dtype);
}

const CONFIG = { hiddenSize: COUNT, maxTokens: COUNT, vocabSize: COUNT, numLayers: COUNT };

/**
 * Makes the encoder from its weights. Source: transformers models/clip/modeling_clip.py CLIPTextModel.
 *
 * @throws VdError `weights` for weights that do not fit
 */
export function clipText(root: Weights, config: ClipTextConfig): ClipText {
  requireLayer("clipText", root, config, CONFIG);
  const { hiddenSize: channels, maxTokens, vocabSize, numLayers, layerNormEps: eps } = config;
  const w = root.has("text_model.final_layer_norm.weight") ? root.at("text_model") : root;
  const table = w.tensor("embeddings.token_embedding.weight", [vocabSize, channels]);
  const positions = w.tensor("embeddings.position_embedding.weight", [maxTokens, channels]);
  const layers = Array.from({ length: numLayers }, (_, i) => clipLayer(w.at("encoder.layers").at(i), config));
  const normOut = layerNorm(w.at("final_layer_norm"), { channels, eps });

  const embed = (tokens: readonly number[]) => {
    const wrong = tokens.find((token) => !(Number.isInteger(token) && token >= 0 && token < vocabSize));
    if (tokens.length !== maxTokens || wrong !== undefined) {
      const expected = `${maxTokens} tokens below ${vocabSize}`;
      const got = wrong === undefined ? `${tokens.length} of them` : String(wrong);
      throw new VdError({ code: "attr", where: "CLIPTextModel] [tokens", expected, got });
    }
    const result = new Float32Array(countOf([maxTokens, channels]));
    for (const [place, token] of tokens.entries()) {
      const [row, position] = [rowOf(table, token), rowOf(positions, place)];
      for (let c = 0; c < channels; c++) result[place * channels + c] = row[c]! + position[c]!;
    }
    return result;
  };

  const encode = pausable(function* (g: Graph, x: Tensor) {
    let h = x;
    for (const layer of layers) {
      h = layer(g, h);
      yield;
    }
    return normOut(g, h);
  });
  return { config, embed, encode };
}
