import type { FloatsRead } from "@vd/kernels-native";
import { decodeStored, runInSlices } from "@vd/tensor";
import { decodeInTiles, joinedFrames } from "../decoding/decode-tiles";
import type { DecodePieces } from "../decoding/pieces";
import { type DecodeShape, decodeStage } from "../decoding/stages";
import type { TemporalVae } from "../temporal-decoder/vae";
import { firstOutside } from "./checks";
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

/** Decodes in pieces to frames [F,H,W,3], which may hold numbers that are not finite. @throws VdError `memory`, `cancelled` */
export async function decodePieces(
  { vae, shape, runs }: DecodeRequest,
  pieces: DecodePieces,
  { data, options }: DecodeWork,
): Promise<FloatsRead> {
  const { signal, onProgress } = options;
  const { tiles } = pieces;
  if (tiles) {
    const job = { vae, shape, tiles, latents: data, outputs: ["floats"] as const, run: runs.run, signal };
    const memory = { device: runs.device, onDeviceBytes: runs.hold };
    const results = await decodeInTiles({ ...job, ...memory, onPart: onProgress });
    const joined = joinedFrames.inPieces(results.get("floats")!);
    const values = decodeStored(await runInSlices(joined, { signal, where: "decode" }), "f32");
    const firstNotFinite = await runInSlices(firstOutside(values, Number.MAX_VALUE), { signal, where: "decode" });
    return { values, ...(firstNotFinite === undefined ? {} : { firstNotFinite }) };
  }
  onProgress?.(0, 1);
  return runs.run(decodeStage(vae, shape, pieces.chunkFrames), async (plan) => {
    await plan.write("latents", data);
    await plan.run({ signal });
    const frames = await plan.readChecked("frames");
    onProgress?.(1, 1);
    return frames;
  });
}
