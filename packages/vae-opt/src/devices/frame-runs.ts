import { COUNT, FLAG, listOf, requireArgument, wholeFrom } from "@vd/kernels-native";
import type { RunNeighbours } from "../temporal-decoder/decoder";

/** A run of a clip's frames, `begin` to `end` (exclusive), that one device computes. */
export interface FrameRun {
  begin: number;
  end: number;
  /** Whether another device has the frame before it, and the one behind it. */
  neighbours: RunNeighbours;
}

/** Of a run of frames. */
export const FRAME_RUN = { begin: wholeFrom(0), end: COUNT, neighbours: listOf(FLAG, 2) };

/** Cuts a clip into a run for each device, as even as can be, the longer runs first; a clip with fewer frames than there are devices into as many
 *  runs as it has frames. @throws VdError `attr` for numbers that are none */
export function frameRuns(numFrames: number, numDevices: number): FrameRun[] {
  requireArgument("frameRuns numFrames", numFrames, COUNT);
  requireArgument("frameRuns numDevices", numDevices, COUNT);
  const count = Math.min(numFrames, numDevices);
  const begins = Array.from({ length: count + 1 }, (_, i) => {
    const [least, longer] = [Math.floor(numFrames / count), numFrames % count];
    return i * least + Math.min(i, longer);
  });
  return begins.slice(0, -1).map((begin, i) => ({
    begin,
    end: begins[i + 1]!,
    neighbours: [i > 0, i < count - 1],
  }));
}
