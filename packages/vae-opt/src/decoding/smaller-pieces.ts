import { FUNCTION, OBJECT, requireFields } from "@vd/kernels-native";
import type { PlanMemory } from "@vd/tensor";
import type { TemporalVae } from "../temporal-decoder/vae";
import { chooseDecodePieces } from "./choose-pieces";
import { type TileStage, tileStages } from "./decode-tiles";
import type { DecodePieces } from "./pieces";
import { type DecodeShape, decodeStage, requireDecode, type VaeStage } from "./stages";

/** Part of the memory that pieces allocated which did not fit after all, for the next try. */
const NEXT_SHARE = 0.7;

/** A decode that a device had no memory for. */
export interface FailedDecode {
  vae: TemporalVae;
  shape: DecodeShape;
  /** What it was cut into. */
  pieces: DecodePieces;
  /** What a stage takes by its layout. */
  memoryOf(stage: VaeStage): Promise<PlanMemory>;
}

/** Returns pieces that take clearly less than those that did not fit after all; undefined if there are none.
 *  @throws VdError `attr` for what is no decode */
export async function smallerPieces(failed: FailedDecode): Promise<DecodePieces | undefined> {
  requireFields("smallerPieces", failed, { pieces: OBJECT, memoryOf: FUNCTION });
  const { vae, shape, pieces, memoryOf } = failed;
  requireDecode("smallerPieces", vae, shape);
  const { tiles, chunkFrames } = pieces;
  const stages: readonly TileStage[] = tiles
    ? tileStages(vae, shape, tiles)
    : [{ stage: decodeStage(vae, shape, chunkFrames), runs: 1, heldBytes: 0 }];
  let [own, weights] = [0, 0];
  for (const { stage, heldBytes } of stages) {
    const memory = await memoryOf(stage);
    const taken = memory.peakBytes + heldBytes;
    if (taken > own) [own, weights] = [taken, memory.weightBytes];
  }
  const smaller = await chooseDecodePieces(vae, shape, {
    budgetBytes: NEXT_SHARE * own + weights,
    async bytesOf(stage) {
      const { peakBytes, weightBytes } = await memoryOf(stage);
      return peakBytes + weightBytes;
    },
  });
  return smaller.fits ? smaller.pieces : undefined;
}
