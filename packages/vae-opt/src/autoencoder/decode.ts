import { decodeStored, runInSlices } from "@vd/tensor";
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

/** What a decode works on, and who hears of it. */
export interface DecodeWork {
  /** Latents, [F,C,h,w]. */
  data: Float32Array;
  options: { signal?: AbortSignal | undefined; onProgress?: ((done: number, total: number) => void) | undefined };
}

/** Decodes in pieces to frames [F,H,W,3]. @throws VdError `memory`, `cancelled` */
export async function decodePieces(
  { vae, shape, runs }: DecodeRequest,
  pieces: DecodePieces,
  { data, options }: DecodeWork,
): Promise<Float32Array> {
  const { signal, onProgress } = options;
  const { tiles } = pieces;
  if (tiles) {
    const job = { vae, shape, tiles, latents: data, outputs: ["floats"] as const, run: runs.run, signal };
    const memory = { device: runs.device, onDeviceBytes: runs.hold };
    const results = await decodeInTiles({ ...job, ...memory, onPart: onProgress });
    const joined = joinedFrames.inPieces(results.get("floats")!);
    return decodeStored(await runInSlices(joined, { signal, where: "decode" }), "f32");
  }
  onProgress?.(0, 1);
  return runs.run(decodeStage(vae, shape, pieces.chunkFrames), async (plan) => {
    await plan.write("latents", data);
    await plan.run({ signal });
    const frames = await plan.read("frames");
    onProgress?.(1, 1);
    return frames;
  });
}
