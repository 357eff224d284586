import { basename } from "node:path";
import type { LiveModelInfo } from "../model/types";

/** Frames a second of a stream whose caller does not say. */
const FPS = 25;
/** Most steps of a batch: those of few-step models. */
const MAX_STEPS = 8;
/** Side of latents where the file does not say. */
const SAMPLE_SIZE = 64;

/** What a session tells of a model of pictures. latents: the size it was trained for; factor: pixels of a side by one of its latents. */
export function pictureInfo(
  source: string,
  latents: readonly [height: number, width: number] = [SAMPLE_SIZE, SAMPLE_SIZE],
  factor: number,
): LiveModelInfo {
  const steps = Array.from({ length: MAX_STEPS }, (_, i) => i + 1);
  return {
    kind: "pictures",
    name: basename(source),
    folder: source,
    width: latents[1] * factor,
    height: latents[0] * factor,
    fps: FPS,
    contextFrames: 0,
    sigmaData: 1,
    defaultSteps: 1,
    // The levels follow from strength and steps; their numbers alone are a choice here.
    sigmas: new Map(steps.map((count) => [count, []])),
    actions: ["none"],
    keys: {},
    starts: [],
  };
}
