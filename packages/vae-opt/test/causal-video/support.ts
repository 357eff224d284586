import {
  type CausalVaeConfig,
  CausalVideoAutoencoder,
  type Clip,
  parseCausalVaeConfig,
  type StreamPlan,
} from "../../src/index";
import { randomWeights } from "../support/random-weights";
import { noise } from "../support/run-module";

/** A small autoencoder with every part of the published one: frames and sides shrink by 4 and by 8. */
export const SMALL: CausalVaeConfig = parseCausalVaeConfig({
  block_out_channels: [8, 8, 16, 16],
  latent_channels: 4,
  layers_per_block: 1,
  norm_num_groups: 4,
  use_quant_conv: false,
  use_post_quant_conv: false,
});

/** An autoencoder with random weights. */
export const openSmall = (config = SMALL, options: { maxBytes?: number } = {}): Promise<CausalVideoAutoencoder> =>
  CausalVideoAutoencoder.fromWeights(randomWeights().weights, config, options);

/** A clip of noise of about ±0.5. */
export function noiseClip(dims: Clip["dims"], seed = 1): Clip {
  const count = dims[0] * dims[1] * dims[2] * dims[3];
  return { values: noise(count, seed).map((value) => value / 2), dims };
}

/** A way to cut the work, whatever memory it takes. */
export const cut = (latentsPerRun: number, framesAtOnce: number, stripHeight?: number): StreamPlan => ({
  ...{ latentsPerRun, framesAtOnce, stripHeight, bytes: 0, hostBytes: 0 },
});

/** A way to cut the work in which both parts of the model run in turns. */
export const inTurns = (latentsPerRun: number, framesAtOnce: number, latentsPerTurn: number): StreamPlan => ({
  ...cut(latentsPerRun, framesAtOnce),
  latentsPerTurn,
});

/** The frames of `clip` as pieces that end at `ends`. */
export function piecesOf({ values, dims }: Clip, ends: readonly number[]): Clip[] {
  const size = values.length / dims[0];
  const all = [...new Set([...ends.filter((end) => end > 0 && end < dims[0]), dims[0]])].sort((a, b) => a - b);
  return all.map((end, i) => {
    const begin = i === 0 ? 0 : all[i - 1]!;
    return { values: values.slice(begin * size, end * size), dims: [end - begin, dims[1], dims[2], dims[3]] };
  });
}

/** max |a − b|. */
export function worstDifference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  return a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);
}

/** Collects a stream's values. */
export async function collect(stream: AsyncIterable<Clip>): Promise<{ values: Float32Array; frames: number[] }> {
  const pieces: Clip[] = [];
  for await (const piece of stream) pieces.push(piece);
  const values = new Float32Array(pieces.reduce((sum, piece) => sum + piece.values.length, 0));
  let at = 0;
  for (const piece of pieces) {
    values.set(piece.values, at);
    at += piece.values.length;
  }
  return { values, frames: pieces.map(({ dims }) => dims[0]) };
}
