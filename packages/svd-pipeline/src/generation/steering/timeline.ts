/** A clip that the model denoises at once: some of its frames are known already, the others are made. */
export interface Clip {
  /** Position of each of its frames on the timeline; undefined for one that lies beyond its end and is thrown away. */
  positions: readonly (number | undefined)[];
  /** True where the clip's last frame is known and the model also looks back from it. */
  isBounded: boolean;
}

/** What decides the clips of a video. */
export interface TimelineRequest {
  /** Frames that are given before the picture. */
  numPast: number;
  /** Frames of the video, from the picture on. */
  numFrames: number;
  /** Frames that are denoised at a time. */
  clipFrames: number;
  /** Frames that a clip takes over from the one before. */
  overlap: number;
  /** The last frame is followed by the first. */
  isLoop: boolean;
  /** The last frame is given. */
  hasLast: boolean;
}

const range = (begin: number, length: number): number[] => Array.from({ length }, (_, i) => begin + i);

/** Where clips of `length` begin so that they cover [0, end), each with at least `overlap` frames of the one before. */
function clipStarts(end: number, length: number, overlap: number): number[] {
  const starts = [0];
  while (starts.at(-1)! + length < end) starts.push(Math.min(starts.at(-1)! + length - overlap, end - length));
  return starts;
}

/** Frames of its beginning that the end of a loop leads to: where things are and how they move takes two. */
const LOOP_AHEAD = 2;

/** The clips of a loop: an open chain, then one that leads from its last frames to its first. */
function loopClips({ numFrames, clipFrames, overlap }: TimelineRequest): Clip[] {
  const length = Math.min(clipFrames, numFrames);
  // Of three frames one is known, one made and one led to.
  const shared = Math.min(overlap, Math.max(Math.floor((length - 2) / 2), length > 2 ? 1 : 0));
  const ahead = Math.min(shared, LOOP_AHEAD);
  const bridgeStart = numFrames + ahead - length;
  const end = bridgeStart + shared;
  const chain = clipStarts(end, length, shared).map((start) => ({
    positions: range(start, length).map((at) => (at < end ? at : undefined)),
    isBounded: false,
  }));
  return [...chain, { positions: range(bridgeStart, length).map((at) => at % numFrames), isBounded: true }];
}

/** Returns the clips of a video in the order in which they are denoised. Positions count from the first given frame. A video that is
 *  shorter than a clip is one whose last frames lie beyond its end. */
export function planClips(request: TimelineRequest): Clip[] {
  if (request.isLoop) return loopClips(request);
  const { numPast, numFrames, clipFrames, overlap, hasLast } = request;
  const total = numPast + numFrames;
  const starts = clipStarts(total, clipFrames, overlap);
  return starts.map((start, i) => ({
    positions: range(start, clipFrames).map((at) => (at < total ? at : undefined)),
    // From a frame beyond the end nothing can be looked back at.
    isBounded: hasLast && i === starts.length - 1 && clipFrames <= total,
  }));
}

/** Returns the clips that make every second frame of a timeline of `numFrames`, of which the even ones are known. Each begins and,
 *  but for frames beyond the end, ends with a known frame. */
export function planInterpolation(numFrames: number, clipFrames: number): Clip[] {
  const used = clipFrames - 1 + (clipFrames % 2);
  const starts = range(0, Math.max(1, Math.ceil((numFrames - 1) / (used - 1)))).map((i) => i * (used - 1));
  return starts.map((start) => ({
    positions: range(start, clipFrames).map((at, i) => (i < used && at < numFrames ? at : undefined)),
    isBounded: false,
  }));
}
