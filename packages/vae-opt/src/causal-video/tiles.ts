import type { Clip } from "./clip";

/** How a picture is cut into tiles of one size that overlap; in latents. */
export interface TileSize {
  height: number;
  width: number;
  /** Of neighbours, at least. */
  overlap: number;
}

/** Tiles along one side: where they begin, and how much each counts at each of its places. */
interface TileRow {
  starts: readonly number[];
  /** Per tile `size · factor` weights; those of all tiles at one place add up to 1. */
  weights: readonly Float32Array[];
}

/** Part of the overlap at either end that does not count: there a tile sees its own border instead of its neighbour. */
const UNUSED_SHARE = 0.25;

/** Where tiles of `size` begin so that they cover `length` and overlap by `overlap` or more, as evenly as can be. */
export function tileStarts(length: number, size: number, overlap: number): number[] {
  if (size >= length) return [0];
  const count = Math.ceil((length - overlap) / (size - overlap));
  return Array.from({ length: count }, (_, i) => Math.round((i * (length - size)) / (count - 1)));
}

/** Tiles along a side of `length`; their weights rise and fall linearly where neighbours overlap. factor: places of the
 *  result for each of `length`. */
export function tileRow(length: number, size: number, overlap: number, factor: number): TileRow {
  const starts = tileStarts(length, size, overlap);
  const total = new Float32Array(length * factor);
  const raw = starts.map((start, i) => {
    const shared = (neighbour: number | undefined) =>
      neighbour === undefined ? 0 : (size - Math.abs(neighbour - start)) * factor;
    const [before, after] = [shared(starts[i - 1]), shared(starts[i + 1])];
    return Float32Array.from({ length: Math.min(size, length) * factor }, (_, at) => {
      const rising = before === 0 ? 1 : ramp((at + 0.5) / before);
      const falling = after === 0 ? 1 : ramp((size * factor - at - 0.5) / after);
      total[start * factor + at]! += rising * falling;
      return rising * falling;
    });
  });
  const weights = raw.map((row, i) => row.map((weight, at) => weight / total[starts[i]! * factor + at]!));
  return { starts, weights };
}

/** 0 at the outer part of an overlap, 1 at the inner one, linear between. */
function ramp(position: number): number {
  return Math.min(Math.max((position - UNUSED_SHARE) / (1 - 2 * UNUSED_SHARE), 0), 1);
}

/** The part of a clip that begins at row `top` and column `left`. */
export function cropClip({ values, dims }: Clip, top: number, left: number, height: number, width: number): Clip {
  const [frames, rows, columns, channels] = dims;
  if (height === rows && width === columns) return { values, dims };
  const part = new Float32Array(frames * height * width * channels);
  for (let frame = 0; frame < frames; frame++)
    for (let y = 0; y < height; y++) {
      const from = ((frame * rows + top + y) * columns + left) * channels;
      part.set(values.subarray(from, from + width * channels), (frame * height + y) * width * channels);
    }
  return { values: part, dims: [frames, height, width, channels] };
}

/** Adds a tile's result times its weights to `whole`. */
export function addTile(
  whole: Clip,
  tile: Clip,
  { top, left, rows, columns }: { top: number; left: number; rows: Float32Array; columns: Float32Array },
): void {
  const [frames, height, width, channels] = tile.dims;
  const [, wholeHeight, wholeWidth] = whole.dims;
  for (let frame = 0; frame < frames; frame++)
    for (let y = 0; y < height; y++) {
      let from = (frame * height + y) * width * channels;
      let to = ((frame * wholeHeight + top + y) * wholeWidth + left) * channels;
      for (let x = 0; x < width; x++) {
        const weight = rows[y]! * columns[x]!;
        for (let c = 0; c < channels; c++) whole.values[to++]! += weight * tile.values[from++]!;
      }
    }
}
