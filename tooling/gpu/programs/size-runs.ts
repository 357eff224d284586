/** One generation at a size. */
export interface SizeRun {
  totalMs: number;
  /** What the run took of the device's memory; undefined on the CPU. */
  usedBytes: number | undefined;
  eventLoopWorstMs: number;
  /** Whether its frames are those of the run that they must equal, where there is one. */
  same?: boolean;
}

/** Joins runs of one size: the figures of the run with the median time, with all times as `samplesMs`, the most memory and
 *  the longest turn of any run; `same` only if all are. Throws RangeError for none. */
export function joinSizeRuns<T extends SizeRun>(runs: readonly T[]): T & { samplesMs: number[] } {
  const middle = [...runs].sort((a, b) => a.totalMs - b.totalMs)[(runs.length - 1) >> 1];
  if (middle === undefined) throw new RangeError("expected runs to join, got none");
  const used = runs.flatMap(({ usedBytes }) => (usedBytes === undefined ? [] : [usedBytes]));
  return {
    ...middle,
    samplesMs: runs.map(({ totalMs }) => totalMs),
    usedBytes: used.length > 0 ? Math.max(...used) : undefined,
    eventLoopWorstMs: Math.max(...runs.map(({ eventLoopWorstMs }) => eventLoopWorstMs)),
    ...(middle.same === undefined ? {} : { same: runs.every(({ same }) => same === true) }),
  };
}
