import { VdError } from "@vd/kernels-native";

/** A computation that pauses after each short piece, such as a row of pixels, and ends with its result. */
export type Pausable<T> = Generator<undefined, T, undefined>;

/** How {@link runInSlices} goes on. */
export interface SliceOptions {
  /** Stops the work between two pieces. */
  signal?: AbortSignal | undefined;
  /** Longest time that the event loop waits for the work at a stretch, in µs. */
  sliceUs?: number | undefined;
}

/** Values between two pauses of {@link mapPausable}. */
const PIECE = 16_384;

/** What `map` makes of `values`, piece by piece: it gets each piece and the index of its first value. */
export function* mapPausable(
  values: Float32Array,
  map: (piece: Float32Array, begin: number) => ArrayLike<number>,
): Pausable<Float32Array> {
  const result = new Float32Array(values.length);
  for (let begin = 0; begin < values.length; begin += PIECE) {
    result.set(map(values.subarray(begin, begin + PIECE), begin), begin);
    yield;
  }
  return result;
}

/** Runs `work` to its end without a pause. */
export function runAtOnce<T>(work: Pausable<T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done) return piece.value;
  }
}

/**
 * Runs `work` on this thread, letting the event loop turn after every `sliceUs` (2 ms). Rejects with `cancelled` when
 * the signal aborts.
 */
export async function runInSlices<T>(work: Pausable<T>, { signal, sliceUs = 2_000 }: SliceOptions = {}): Promise<T> {
  for (;;) {
    if (signal?.aborted) {
      const where = "image processing";
      throw new VdError({ code: "cancelled", where, expected: "to finish", got: "an abort", cause: signal.reason });
    }
    const end = performance.now() + sliceUs / 1_000;
    do {
      const piece = work.next();
      if (piece.done) return piece.value;
    } while (performance.now() < end);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
