import { type FloatsRead, VdError } from "@vd/kernels-native";

function notFinite(step: number): VdError {
  return new VdError({
    code: "weights",
    where: `denoise step ${step}`,
    expected: "finite latents",
    got: "infinite ones or NaN",
    hint: "Either the sigmas or the guidance are far out of range, or the weights are damaged, or float16 has overflowed.",
  });
}

/**
 * Checks latents after a step: infinite ones or NaN would spread and end as a black video.
 *
 * @throws VdError `weights` for latents that are not finite
 */
export function checkFinite(latents: Float32Array, step: number): void {
  // Multiplied by zero and added up, values give zero as long as all of them are finite, and NaN otherwise.
  let zero = 0;
  for (let i = 0; i < latents.length; i++) zero += latents[i]! * 0;
  if (zero !== 0) throw notFinite(step);
}

/**
 * Returns latents that were read from a device after a step, and looked at on the way.
 *
 * @throws VdError `weights` for latents that are not finite
 */
export function finiteValues({ values, firstNotFinite }: FloatsRead, step: number): Float32Array {
  if (firstNotFinite !== undefined) throw notFinite(step);
  return values;
}
