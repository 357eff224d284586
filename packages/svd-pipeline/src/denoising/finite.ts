import { VdError } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";

/** Values between two pauses of {@link checkFinite}. */
const PIECE = 65_536;

/** Multiplied by zero and added up, values give zero as long as all of them are finite, and NaN otherwise. */
function areFinite(values: Float32Array): boolean {
  let zero = 0;
  for (let i = 0; i < values.length; i++) zero += values[i]! * 0;
  return zero === 0;
}

/**
 * Checks latents after a step: infinite ones or NaN would spread and end as a black video. Pauses after some values.
 *
 * @throws VdError `weights` for latents that are not finite
 */
export const checkFinite = pausable(function* (latents: Float32Array, step: number): Pausable<void> {
  for (let begin = 0; begin < latents.length; begin += PIECE) {
    if (!areFinite(latents.subarray(begin, begin + PIECE)))
      throw new VdError({
        code: "weights",
        where: `denoise step ${step}`,
        expected: "finite latents",
        got: "infinite ones or NaN",
        hint: "Either the sigmas or the guidance are far out of range, or the weights are damaged, or float16 has overflowed.",
      });
    yield;
  }
});
