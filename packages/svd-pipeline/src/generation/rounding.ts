import { cast } from "@vd/sampling";
import { mapFloats, type Pausable, pausable } from "@vd/tensor";
import type { Precision } from "../types";

/** Returns `values` rounded to the precision of a generation's latents. Pauses after some values. */
export const roundedTo = pausable(function* (precision: Precision, values: Float32Array): Pausable<Float32Array> {
  const round = (piece: Float32Array) => cast({ data: piece, dtype: "float32" }, precision).data;
  return yield* mapFloats.inPieces(values, (piece, result) => result.set(round(piece)));
});
