import type { DType } from "@vd/kernels-native";
import { decodeInTiles, joinedFrames } from "../decoding/decode-tiles";
import type { DecodePieces } from "../decoding/pieces";
import { type DecodeShape, decodeStage } from "../decoding/stages";
import type { TemporalVae } from "../temporal-decoder/vae";
import type { StageRuns } from "./stage-runs";

/** A decode before its pieces are chosen. */
export interface DecodeRequest {
  vae: TemporalVae;
  shape: DecodeShape;
  runs: StageRuns;
}

/** Decoded frames as the device stores them, [F,H,W,3]. */
export interface StoredFrames {
  bytes: Uint8Array;
  dtype: DType;
}

/** What a decode works on, and who hears of it. */
export interface DecodeWork {
  /** Latents, [F,C,h,w]. */
  data: Float32Array;
  options: { signal?: AbortSignal | undefined; onProgress?: ((done: number, total: number) => void) | undefined };
}

/** Decodes in pieces. @throws VdError `memory`, `cancelled` */
export async function decodePieces(
  { vae, shape, runs }: DecodeRequest,
  pieces: DecodePieces,
  { data, options }: DecodeWork,
): Promise<StoredFrames> {
  const { signal, onProgress } = options;
  const { tiles } = pieces;
  if (tiles) {
    const job = { vae, shape, tiles, latents: data, outputs: ["frames"] as const, run: runs.run, signal };
    const results = await decodeInTiles({ ...job, onPart: onProgress });
    const frames = results.get("frames")!;
    return { bytes: joinedFrames(frames), dtype: frames.dtype };
  }
  onProgress?.(0, 1);
  return runs.run(decodeStage(vae, shape, pieces.chunkFrames), async (plan) => {
    await plan.write("latents", data);
    await plan.run({ signal });
    const bytes = await plan.readBytes("frames");
    onProgress?.(1, 1);
    return { bytes, dtype: plan.layout.graph.outputs.get("frames")!.dtype };
  });
}
