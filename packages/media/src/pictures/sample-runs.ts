import {
  arrayOf,
  COUNT,
  FLOATS_32,
  requireArgument,
  requireFields,
  VdError,
  type WantedFields,
} from "@vd/kernels-native";
import { type CubicTaps, POSITIONS } from "./bicubic";

/** For each sample of a result along one axis, source samples that lie beside each other, and their weights. */
export interface SampleRuns {
  /** [size], the first source sample of each. */
  first: Int32Array;
  /** Samples of a run. */
  length: number;
  /** [size, length]. */
  weights: Float64Array;
}

/** What runs must be. */
export const SAMPLE_RUNS: WantedFields = { first: POSITIONS, length: COUNT, weights: arrayOf("Float64Array") };

const TAPS: WantedFields = { indices: POSITIONS, weights: FLOATS_32 };

/** Position within [0, size) of an index up to size − 1 outside, mirrored at the border pixels' centres. */
function reflect(index: number, size: number): number {
  const positive = Math.abs(index);
  return positive < size ? positive : 2 * (size - 1) - positive;
}

/** Calls `take` with the position in the source and the weight of each that makes result sample `i`; positions come several times. */
function eachWeight(
  kernel: Float32Array,
  { indices, weights }: CubicTaps,
  size: number,
  i: number,
  take: (position: number, weight: number) => void,
): void {
  const numTaps = 4;
  const radius = kernel.length >> 1;
  for (let tap = numTaps * i; tap < numTaps * (i + 1); tap++)
    for (let k = 0; k < kernel.length; k++) {
      const weight = weights[tap]! * kernel[k]!;
      if (weight !== 0) take(reflect(indices[tap]! + k - radius, size), weight);
    }
}

/** The first and the last position in the source of what makes result sample `i`. */
function endsOf(kernel: Float32Array, taps: CubicTaps, size: number, i: number): readonly [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  eachWeight(kernel, taps, size, i, (position) => {
    low = Math.min(low, position);
    high = Math.max(high, position);
  });
  return [low, high];
}

/**
 * Returns what a line's samples are made of that is blurred, with reflected borders, and then resized: both in one step. kernel: of the blur, an odd
 * number of weights; taps: of the resize; sourceSize: of the line.
 *
 * @throws VdError `attr` for a kernel that reaches beyond the reflection of a line
 */
export function blurredRuns(kernel: Float32Array, taps: CubicTaps, sourceSize: number): SampleRuns {
  requireArgument("blurredRuns kernel", kernel, FLOATS_32);
  requireFields("blurredRuns taps", taps, TAPS);
  requireArgument("blurredRuns sourceSize", sourceSize, COUNT);
  if (kernel.length >> 1 >= sourceSize) {
    const [expected, got] = [`a kernel of at most ${2 * sourceSize - 1} weights`, `${kernel.length}`];
    throw new VdError({ code: "attr", where: "blurredRuns kernel", expected, got });
  }
  const size = taps.indices.length / 4;
  const ends = Array.from({ length: size }, (_, i) => endsOf(kernel, taps, sourceSize, i));
  const length = Math.max(...ends.map(([low, high]) => high - low + 1));
  const first = Int32Array.from(ends, ([low]) => Math.min(low, sourceSize - length));
  const weights = new Float64Array(size * length);
  for (let i = 0; i < size; i++) {
    const at = i * length - first[i]!;
    eachWeight(kernel, taps, sourceSize, i, (position, weight) => {
      weights[at + position]! += weight;
    });
  }
  return { first, length, weights };
}
