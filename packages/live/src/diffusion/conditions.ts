import { VdError } from "@vd/kernels-native";
import type { LiveParameters } from "../session/types";
import type { StreamConditions } from "./types";

/** Those of a session's parameters that a stream is told. */
export function conditionsOf(parameters: LiveParameters): Partial<StreamConditions> {
  const { prompt, negativePrompt, strength, guidanceScale, delta } = parameters;
  return Object.fromEntries(
    Object.entries({ prompt, negativePrompt, strength, guidanceScale, delta }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

/**
 * Checks the size of a session's pictures.
 *
 * @throws VdError `attr` for one that is no multiple of `step`
 */
export function checkSize({ width, height }: { width: number; height: number }, step: number): void {
  if (width % step === 0 && height % step === 0) return;
  const expected = `width and height in multiples of ${step}`;
  throw new VdError({ code: "attr", where: "session] [size", expected, got: `${width} x ${height}` });
}
