import type { PlanMemory } from "@vd/tensor";
import type { TemporalVae } from "../temporal-decoder/vae";
import { chooseDecodePieces } from "./choose-pieces";
import { type TileStage, tileStages } from "./decode-tiles";
import type { DecodePieces } from "./pieces";
import { type DecodeShape, decodeStage, type VaeStage } from "./stages";

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

/** Returns pieces that take clearly less than those that did not fit after all; undefined if there are none. */
export async function smallerPieces({ vae, shape, pieces, memoryOf }: FailedDecode): Promise<DecodePieces | undefined> {
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
