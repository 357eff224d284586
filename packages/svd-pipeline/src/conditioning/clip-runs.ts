import { blurredRuns, cubicTaps, gaussianKernel, type SampleRuns } from "@vd/media";
import { type Pausable, runAtOnce, runInSlices, type SliceOptions } from "@vd/tensor";

/** Sides whose runs are remembered: those of a few pictures' sizes, a megabyte in all where the pictures are of 8K. */
const MOST_REMEMBERED = 8;

/** Runs by the sizes that they are for; those that were wanted last are at the end. */
const remembered = new Map<string, SampleRuns>();

const keyOf = (sourceSize: number, size: number) => `${sourceSize} to ${size}`;

/** What makes each sample of a line of `size` out of one of `sourceSize`. */
function runsAlong(sourceSize: number, size: number): SampleRuns {
  const key = keyOf(sourceSize, size);
  const runs =
    remembered.get(key) ?? blurredRuns(gaussianKernel(sourceSize, size), cubicTaps(sourceSize, size), sourceSize);
  remembered.delete(key);
  remembered.set(key, runs);
  if (remembered.size > MOST_REMEMBERED) remembered.delete(remembered.keys().next().value!);
  return runs;
}

/** What makes each column and each row of a result. */
export interface ClipRuns {
  readonly x: SampleRuns;
  readonly y: SampleRuns;
}

function* runsOf(sides: { width: number; height: number }, size: number): Pausable<ClipRuns> {
  const x = runsAlong(sides.width, size);
  yield;
  return { x, y: runsAlong(sides.height, size) };
}

/**
 * Returns what makes each column and each row of the image encoder's square view of a picture: at once where it is remembered, as that of
 * the last few sizes is, else in slices. Nobody may change it.
 *
 * @throws VdError `cancelled`
 */
export async function clipRuns(
  picture: { readonly width: number; readonly height: number },
  size: number,
  slices: SliceOptions,
): Promise<ClipRuns> {
  const known = [picture.width, picture.height].every((side) => remembered.has(keyOf(side, size)));
  const runs = runsOf(picture, size);
  return known ? runAtOnce(runs) : runInSlices(runs, slices);
}
