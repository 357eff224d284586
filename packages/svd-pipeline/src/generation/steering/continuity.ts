import { COUNT, FUNCTION, listOf, requireFields, wholeFrom } from "@vd/kernels-native";
import type { VideoFrames } from "@vd/media";

/** How a video goes over a seam between two clips. */
export interface SeamMeasure {
  /** The first frame of the later clip. */
  frame: number;
  /** How much changes there, as the mean difference of pixels, relative to the median of the steps around it: 1 is like any other. */
  motion: number;
  /** How far the mean colour of a frame jumps there, in levels of 255: the channel that jumps most. */
  colourStep: number;
}

/** How well a video holds together that was made clip by clip. */
export interface Continuity {
  seams: SeamMeasure[];
  /** How far the mean colour of the last frames is from that of the first, in levels of 255: the channel that drifted most. */
  colourDrift: number;
  /** The same channel by channel: red, green, blue. */
  driftByChannel: [number, number, number];
}

/** Frames at each end whose mean colour is compared, and steps on each side of a seam. */
const AROUND = 4;

type Colour = [number, number, number];

function meanColour(frame: Uint8Array): Colour {
  const sums: Colour = [0, 0, 0];
  for (let i = 0; i < frame.length; i++) sums[i % 3]! += frame[i]!;
  return sums.map((sum) => (3 * sum) / frame.length) as Colour;
}

function meanDifference(a: Uint8Array, b: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += Math.abs(a[i]! - b[i]!);
  return sum / a.length;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const mean = (colours: readonly Colour[]): Colour =>
  [0, 1, 2].map((c) => colours.reduce((sum, colour) => sum + colour[c]!, 0) / colours.length) as Colour;

const largest = (values: readonly number[]): number => Math.max(...values.map(Math.abs));

/**
 * Measures how a video that was made clip by clip goes over its seams, and how far its colours have drifted. video: with its seams, the
 * first frames of later clips; seam 0 is that of a loop, from the last frame to the first.
 *
 * @example
 * ```ts
 * const video = await pipeline.generate({ image: "start.png", numFrames: 42 });
 * const { seams, colourDrift } = measureContinuity(video);
 * console.log(seams.map(({ motion }) => motion), colourDrift);
 * ```
 */
export function measureContinuity(
  video: Pick<VideoFrames, "numFrames" | "frame"> & { seams: readonly number[] },
): Continuity {
  requireFields("measureContinuity", video, { numFrames: COUNT, frame: FUNCTION, seams: listOf(wholeFrom(0)) });
  const { numFrames } = video;
  const at = (i: number) => video.frame(((i % numFrames) + numFrames) % numFrames);
  const stepInto = (frame: number) => meanDifference(at(frame - 1), at(frame));
  const seams = video.seams.map((frame) => {
    const isLoop = frame === 0;
    const around = Array.from({ length: 2 * AROUND + 1 }, (_, i) => frame - AROUND + i)
      .filter((i) => i !== frame && (isLoop || (i > 0 && i < numFrames)))
      .map(stepInto);
    const [before, after] = [meanColour(at(frame - 1)), meanColour(at(frame))];
    const jump = largest(after.map((value, c) => value - before[c]!));
    return { frame, motion: stepInto(frame) / median(around), colourStep: jump };
  });
  const count = Math.min(AROUND, numFrames);
  const ends = [0, numFrames - count].map((begin) =>
    mean(Array.from({ length: count }, (_, i) => meanColour(at(begin + i)))),
  );
  const driftByChannel = ends[1]!.map((value, c) => value - ends[0]![c]!) as Colour;
  return { seams, colourDrift: largest(driftByChannel), driftByChannel };
}
