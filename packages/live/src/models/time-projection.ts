import { channelRange, type Graph, reshape, type Tensor } from "@vd/tensor";

/** How a timestep becomes waves. */
export interface TimeProjectionConfig {
  width: number;
  /** Sines before cosines. */
  sinesFirst: boolean;
  freqShift: number;
}

/** Timesteps as sines and cosines. t: f32[B,F] → [B,F,1,width]. Source: huggingface/diffusers@58eb52c models/embeddings.py Timesteps. */
export function timeProjection(g: Graph, t: Tensor, { width, sinesFirst, freqShift }: TimeProjectionConfig): Tensor {
  const [batch, frames] = t.dims as [number, number];
  const out = g.empty([batch, frames, width]);
  const cosinesFirst = g.timestepEmbedding({ name: "time_proj", t, width, downscaleShift: freqShift, out });
  const y = reshape(cosinesFirst, [batch, frames, 1, width]);
  if (!sinesFirst) return y;
  const half = width / 2;
  const swapped = g.empty(y.dims, y.dtype);
  g.copy({ name: "time_proj.sines", x: channelRange(y, half, width), out: channelRange(swapped, 0, half) });
  g.copy({ name: "time_proj.cosines", x: channelRange(y, 0, half), out: channelRange(swapped, half, width) });
  return swapped;
}
