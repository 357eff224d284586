import { allocateBuffer, countOf } from "@vd/kernels-native";
import {
  decodeStored,
  elementBytes,
  embedding,
  type Module,
  makeStorage,
  packedTensor,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import { timeProjection } from "../time-projection";
import type { Unet2dConfig } from "./config";

/** The class embedding's table as the weight of a product with one-hot rows, [E,N] in float32: made once. */
function transposedTable(w: Weights, { numClassEmbeds: rows, timeEmbeddingDim: width }: Unet2dConfig): Tensor {
  const { storage, byteOffset, dtype, dims } = w.tensor("weight", [rows, width]);
  const { buffer, byteOffset: base } = storage.place!;
  const bytes = buffer.readSync(new Uint8Array(countOf(dims) * elementBytes(dtype)), base + byteOffset);
  const table = decodeStored(bytes, dtype);
  const transposed = Float32Array.from(table, (_, i) => table[(i % rows) * width + Math.floor(i / rows)]!);
  const place = { buffer: allocateBuffer(transposed.byteLength), byteOffset: 0 };
  place.buffer.writeSync(transposed);
  return packedTensor(makeStorage("weights", transposed.byteLength, w.path, place), [width, rows], "f32");
}

/** Tensors that say what is to be denoised. */
export interface Conditions {
  /** [B,1]; not a whole number where the model's formulas say so. */
  timestep: Tensor;
  /** One-hot rows, [B,1,1,N]; for models with classes. */
  classes?: Tensor | undefined;
}

/** The vector that all residual blocks take, after its SiLU. → [B,1,1,E].
 *  Source: huggingface/diffusers@58eb52c unets/unet_2d.py `forward`, 1. time. */
export function conditionEmbedding(w: Weights, config: Unet2dConfig): Module<[conditions: Conditions]> {
  const embed = embedding(w.at("time_embedding"), {
    cin: config.blockOutChannels[0]!,
    inner: config.timeEmbeddingDim,
  });
  const { sinesFirst, freqShift } = config;
  const width = config.blockOutChannels[0]!;
  const table = config.numClassEmbeds > 0 ? transposedTable(w.at("class_embedding"), config) : undefined;
  return (g, { timestep, classes }) => {
    const projected = timeProjection(g, timestep, { width, sinesFirst, freqShift });
    g.tap("time_proj", projected);
    g.tap("time_embedding", () => embed(g, projected));
    if (!table || !classes) return embed(g, projected, { act: "silu" });
    const ofClass = g.linear({ name: "class_embedding", x: classes, weight: table });
    g.tap("class_embedding", ofClass);
    const ofTime = embed(g, projected);
    return g.pointwise({ name: "embedding", a: ofTime, b: ofClass, act: "silu" });
  };
}
