import { valueError } from "@vd/svd-pipeline/options";
import type { RunOptions } from "./model/defaults";
import type { Settings } from "./settings";

/** Seconds of a time such as `4s` or `800ms`. */
function secondsOf(time: string): number {
  const value = Number.parseFloat(time);
  return time.endsWith("ms") ? value / 1000 : value;
}

/**
 * Makes sure that a video's length is named once, before any work.
 *
 * @throws VdError `attr` for a duration beside a number of frames
 */
export function checkDuration({ duration, generate }: Settings): void {
  if (duration === undefined || generate.numFrames === undefined) return;
  throw valueError("--duration", "no --frames beside it", duration, "Leave out one of the two");
}

/**
 * Returns the options with as many frames as the wanted duration takes at their rate.
 *
 * @throws VdError `attr` for a duration of no frame
 */
export function withDuration(options: RunOptions, { duration }: Settings): RunOptions {
  if (duration === undefined) return options;
  const shown = secondsOf(duration) * options.fps;
  // There and back again shows every frame but the two ends twice.
  const numFrames = Math.round(options.boomerang ? shown / 2 + 1 : shown);
  if (numFrames < 1) throw valueError("--duration", `at least one frame at ${options.fps} a second`, duration);
  return { ...options, numFrames };
}
