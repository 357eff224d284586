import { type Graph, reshape, type Tensor } from "@vd/tensor";
import { NORM_EPS } from "./blocks";
import type { Piece } from "./frame-memory";

/** Names of a norm's statistics in a plan: what it takes, [1,F,groups,2], and what it measures of its part of the picture, per row:
 *  [1,F·rows,groups,2]. */
const GIVEN = "given ";
const MEASURED = "measured ";

/** Added to variances where they are measured and taken off again; far below any that matters. */
const EPS = 1e-12;

/** Records, for strips, that norms take given statistics and measure each row of theirs; undefined for whole pictures. */
export function statisticsFor({ part }: { part: string }): Piece["statistics"] {
  if (part !== "strips") return undefined;
  return (g: Graph, path: string, x: Tensor, groups: number) => {
    const [, frames, rows, width, channels] = x.dims as [number, number, number, number, number];
    const ofRows = reshape(x, [1, frames * rows, 1, width, channels]);
    g.output(MEASURED + path, g.groupNormStats({ name: `${path}.rows`, x: ofRows, groups, eps: EPS }));
    return g.input(GIVEN + path, [1, frames, groups, 2], "f32");
  };
}

/** The norms of a plan, in the order of computation: paths and shapes of what they take. */
export function normsOf(graph: Graph): { path: string; frames: number; groups: number; rows: number }[] {
  return [...graph.inputs].flatMap(([name, { dims }]) => {
    if (!name.startsWith(GIVEN)) return [];
    const path = name.slice(GIVEN.length);
    const [, frames, groups] = dims as [number, number, number];
    const measured = graph.outputs.get(MEASURED + path)!.dims[1]!;
    return [{ path, frames, groups, rows: measured / frames }];
  });
}

export const givenName = (path: string): string => GIVEN + path;
export const measuredName = (path: string): string => MEASURED + path;

/** Statistics of one norm over whole pictures, put together from those of rows. */
export class PooledStatistics {
  private readonly means: Float64Array;
  private readonly squares: Float64Array;
  private rows = 0;

  constructor(
    private readonly frames: number,
    private readonly groups: number,
  ) {
    this.means = new Float64Array(frames * groups);
    this.squares = new Float64Array(frames * groups);
  }

  /** Adds rows `begin` to `end` of a strip with `numRows`. measured: [F·numRows,groups,2]. */
  add(measured: Float32Array, numRows: number, begin: number, end: number): void {
    const { frames, groups, means, squares } = this;
    for (let frame = 0; frame < frames; frame++)
      for (let row = begin; row < end; row++)
        for (let group = 0; group < groups; group++) {
          const at = ((frame * numRows + row) * groups + group) * 2;
          const [mean, scale] = [measured[at]!, measured[at + 1]!];
          means[frame * groups + group]! += mean;
          squares[frame * groups + group]! += 1 / (scale * scale) - EPS + mean * mean;
        }
    this.rows += end - begin;
  }

  /** Mean and 1/√(variance + eps) per frame and group, [F,groups,2]; those of `fallback` where rows were not finite. */
  result(fallback: Float32Array): Float32Array {
    const { means, squares, rows } = this;
    const result = new Float32Array(means.length * 2);
    for (let i = 0; i < means.length; i++) {
      const mean = means[i]! / rows;
      const scale = 1 / Math.sqrt(Math.max(squares[i]! / rows - mean * mean, 0) + NORM_EPS);
      const finite = Number.isFinite(mean) && Number.isFinite(scale);
      result[2 * i] = finite ? mean : fallback[2 * i]!;
      result[2 * i + 1] = finite ? scale : fallback[2 * i + 1]!;
    }
    return result;
  }
}

/** How far normalised values move from one set of statistics to the other, at most: in standard deviations. */
export function statisticsChange(from: Float32Array, to: Float32Array): number {
  let most = 0;
  for (let i = 0; i < to.length; i += 2) {
    const [mean, scale] = [to[i]!, to[i + 1]!];
    most = Math.max(most, Math.abs(from[i]! - mean) * scale, Math.abs(from[i + 1]! / scale - 1));
  }
  return most;
}

/** The last frame's statistics for each of `frames`: what the next piece most likely has. */
export function repeatLast(statistics: Float32Array, groups: number, frames: number): Float32Array {
  const last = statistics.subarray(-2 * groups);
  const result = new Float32Array(frames * last.length);
  for (let frame = 0; frame < frames; frame++) result.set(last, frame * last.length);
  return result;
}

/** Statistics of normal numbers, for norms of which nothing is known yet: [1,groups,2]. */
export const unknownStatistics = (groups: number): Float32Array =>
  Float32Array.from({ length: 2 * groups }, (_, i) => i % 2);
