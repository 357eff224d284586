import { having, requireArgument, requireFields, shown, VdError } from "@vd/kernels-native";
import { EXTENT } from "./layer";

/** One axis of positions and the channels of a head that it turns. */
export interface RotaryAxis {
  /** Of every place along the sequence; fractions are positions too. */
  positions: ArrayLike<number>;
  /** Even; the slowest pair turns by θ^(2/channels − 1) a position. */
  channels: number;
  /** Base of the angles; default 10000. */
  theta?: number;
}

/** A table for `rotaryQ` or `rotaryK` of attention. */
export interface RotaryTable {
  /** Cosine and sine of each pair's angle, [places, channels]. */
  data: Float32Array;
  dims: readonly [places: number, channels: number];
}

/** Numbers, in a list or a typed array. */
const AXIS = { positions: having("a list of numbers", ["length"]) };

const fault = (where: string, expected: string, got: string) =>
  new VdError({ code: "attr", where: `rotaryTable] [${where}`, expected, got });

function requireAxis({ positions, channels, theta = 10000 }: RotaryAxis, places: number): void {
  if (!Number.isInteger(channels) || channels < 2 || channels % 2 !== 0)
    throw fault("channels", "an even number from 2", String(channels));
  if (!(theta > 0 && Number.isFinite(theta))) throw fault("theta", "a number above 0", String(theta));
  if (positions.length !== places)
    throw fault("positions", `${places} of them on every axis`, String(positions.length));
}

/**
 * Returns the angles of a rotary position embedding, computed in float64: pair i of an axis turns by
 * position · θ^(−2i/channels). Axes stand one behind the other in a head's channels, so one axis is the embedding of a text and
 * three that of a video.
 * Sources: https://arxiv.org/abs/2104.09864; for three axes https://arxiv.org/abs/2412.03603.
 *
 * @throws VdError `attr` for no axes, an odd number of channels, or axes of different lengths
 *
 * @example
 * ```ts
 * import { gridPositions, rotaryTable } from "@vd/tensor";
 *
 * const [frames, rows, columns] = gridPositions([2, 3, 4]);
 * const table = rotaryTable([
 *   { positions: frames, channels: 16 },
 *   { positions: rows, channels: 24 },
 *   { positions: columns, channels: 24 },
 * ]);
 * console.log(table.dims); // [ 24, 64 ]
 * ```
 */
export function rotaryTable(axes: readonly RotaryAxis[]): RotaryTable {
  if (!Array.isArray(axes)) throw fault("axes", "a list of axes", shown(axes));
  for (const axis of axes) requireFields("rotaryTable] [axes", axis, AXIS);
  const places = axes[0]?.positions.length ?? 0;
  if (places === 0) throw fault("axes", "at least one axis with a position", "none");
  for (const axis of axes) requireAxis(axis, places);
  const width = axes.reduce((sum, { channels }) => sum + channels, 0);
  const data = new Float32Array(places * width);
  let column = 0;
  for (const { positions, channels, theta = 10000 } of axes) {
    for (let pair = 0; pair < channels; pair += 2) {
      const frequency = theta ** (-pair / channels);
      for (let place = 0; place < places; place++) {
        const angle = positions[place]! * frequency;
        data[place * width + column + pair] = Math.cos(angle);
        data[place * width + column + pair + 1] = Math.sin(angle);
      }
    }
    column += channels;
  }
  return { data, dims: [places, width] };
}

/** Frame, row and column of every token of a clip, frames first. size: [frames, rows, columns]. */
export function gridPositions(
  size: readonly [frames: number, rows: number, columns: number],
): readonly [frames: Float64Array, rows: Float64Array, columns: Float64Array] {
  requireArgument("gridPositions", size, EXTENT);
  const [frames, rows, columns] = size;
  const each = (position: (i: number) => number) =>
    Float64Array.from({ length: frames * rows * columns }, (_, i) => position(i));
  return [
    each((i) => Math.floor(i / (rows * columns))),
    each((i) => Math.floor(i / columns) % rows),
    each((i) => i % columns),
  ];
}
