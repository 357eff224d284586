import type { Clip } from "./clip";

/** A strip of the picture, in rows of latents. */
export interface Strip {
  /** Where it begins; all have the same height. */
  top: number;
  /** The rows that count, of the whole picture: what lies beyond is there to reach into them. */
  begin: number;
  end: number;
}

/** Cuts `length` rows into strips of `height` that overlap by `2 · reach` rows or more, as evenly as can be. */
export function stripsOf(length: number, height: number, reach: number): Strip[] {
  if (height >= length) return [{ top: 0, begin: 0, end: length }];
  const count = Math.ceil((length - 2 * reach) / (height - 2 * reach));
  const tops = Array.from({ length: count }, (_, i) => Math.floor((i * (length - height)) / (count - 1)));
  const ends = tops.map((top, i) => (i === count - 1 ? length : Math.floor((top + height + tops[i + 1]!) / 2)));
  return tops.map((top, i) => ({ top, begin: i === 0 ? 0 : ends[i - 1]!, end: ends[i]! }));
}

/** The rows `begin` to `end` of every frame; without a copy where those are all. */
export function rowsOf({ values, dims }: Clip, begin: number, end: number): Clip {
  const [frames, height, width, channels] = dims;
  if (begin === 0 && end === height) return { values, dims };
  const row = width * channels;
  const part = new Float32Array(frames * (end - begin) * row);
  for (let frame = 0; frame < frames; frame++) {
    const first = frame * height;
    part.set(values.subarray((first + begin) * row, (first + end) * row), frame * (end - begin) * row);
  }
  return { values: part, dims: [frames, end - begin, width, channels] };
}

/** Puts the rows `begin` to `end` of `whole` where a strip that begins at row `top` has them. */
export function putRows(whole: Clip, strip: Clip, { top, begin, end }: Strip): void {
  const [frames, height, width, channels] = strip.dims;
  const row = width * channels;
  for (let frame = 0; frame < frames; frame++) {
    const from = (frame * height + begin - top) * row;
    const to = (frame * whole.dims[1] + begin) * row;
    whole.values.set(strip.values.subarray(from, from + (end - begin) * row), to);
  }
}

/** A strip in rows that are `factor` times as many. */
export const scaled = ({ top, begin, end }: Strip, factor: number): Strip => ({
  top: top * factor,
  begin: begin * factor,
  end: end * factor,
});
