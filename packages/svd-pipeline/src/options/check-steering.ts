import { VdError } from "@vd/kernels-native";
import type { GenerateOptions, GenerateValues } from "./option-types.generated";

/** Fewer frames of a loop cannot be tied together: one at both ends, and some in between. */
export const LEAST_LOOP = 4;

const refused = (where: string, expected: string, got: string, hint: string) =>
  new VdError({ code: "attr", where, expected, got, hint });

/**
 * Checks options that say how a video begins, goes on and ends against each other.
 *
 * @throws VdError `attr` naming the option
 */
export function checkSteering(options: GenerateOptions, values: GenerateValues): void {
  const { numFrames, clipFrames, overlap, loop, boomerang } = values;
  const { lastImage, pastFrames = [] } = options;
  const clip = Math.min(clipFrames, numFrames + pastFrames.length);
  const isChained = numFrames + pastFrames.length > clip;
  if (isChained && overlap >= clip)
    throw refused(
      "overlap",
      `fewer frames than a clip has, at most ${clip - 1}`,
      String(overlap),
      "Use a smaller overlap or a larger clipFrames.",
    );
  if (pastFrames.length > 0 && isChained && pastFrames.length + 1 >= clip)
    throw refused(
      "pastFrames",
      `at most ${clip - 2} frames, so that a clip has some to make`,
      String(pastFrames.length),
      "Give the last of them.",
    );
  if (loop && numFrames < LEAST_LOOP)
    throw refused(
      "numFrames",
      `at least ${LEAST_LOOP} frames, which a loop takes`,
      String(numFrames),
      "Make more frames.",
    );
  const ends: readonly [string, unknown][] = [
    ["boomerang", boomerang],
    ["lastImage", lastImage],
    ["pastFrames", pastFrames.length > 0],
  ];
  for (const [name, value] of ends)
    if (loop && value)
      throw refused("loop", `no ${name} beside it`, "both", "A loop ends where it begins: leave one of the two out.");
  if (lastImage !== undefined && numFrames < 2)
    throw refused("numFrames", "at least 2 frames with a lastImage", String(numFrames), "Make more frames.");
}
