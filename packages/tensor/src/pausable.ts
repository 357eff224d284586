import {
  cancelledError,
  FLOATS_32,
  FUNCTION,
  having,
  numberFrom,
  optional,
  requireArgument,
  requireFields,
  SIGNAL,
  TEXT,
} from "@vd/kernels-native";

/** A computation that pauses after each short piece, such as a row of pixels, and ends with its result. */
export type Pausable<T> = Generator<undefined, T, undefined>;

/** What pauses, as an argument. */
const PAUSABLE = having("work that pauses, as a generator or what inPieces returns", ["next", "return"]);

/** How {@link runInSlices} goes on. */
export interface SliceOptions {
  /** Stops the work between two pieces. */
  signal?: AbortSignal | undefined;
  /** What the work is, for the error of an abort; default `computation`. */
  where?: string | undefined;
  /** Longest time that the event loop waits for the work at a stretch, in µs. */
  sliceUs?: number | undefined;
}

const SLICES = { signal: optional(SIGNAL), where: optional(TEXT), sliceUs: optional(numberFrom(0)) };

/** Time between two turns of the event loop, in µs: a piece may overrun it, and other callbacks come on top, above all
 *  2 to 3 ms of garbage collection. */
const SLICE_US = 500;

/** Those who wait for a turn of the event loop of their own. */
const waiting: (() => void)[] = [];

function serveNext(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(serveNext);
}

/** Settles in a turn of the event loop that no other waiter of this function shares, so that computations beside each
 *  other do not add up to one long wait. */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(serveNext);
  });
}

/** A computation that can pause: called, it runs to its end at once; `inPieces` gives it piece by piece, for
 *  {@link runInSlices} or as a part of another computation that pauses. */
export interface PausableFunction<Args extends readonly unknown[], Result> {
  (...args: Args): Result;
  inPieces(...args: Args): Pausable<Result>;
}

/**
 * Makes a function that can pause out of a generator function that yields after each piece.
 *
 * @throws VdError `attr` for what is no function
 * @example
 * ```ts
 * import { type Pausable, pausable, runInSlices } from "@vd/tensor";
 *
 * const sum = pausable(function* (values: Float32Array): Pausable<number> {
 *   let total = 0;
 *   for (let i = 0; i < values.length; i++) {
 *     total += values[i]!;
 *     if (i % 4096 === 4095) yield;
 *   }
 *   return total;
 * });
 * const values = new Float32Array(1e6).fill(1);
 * console.log(sum(values), await runInSlices(sum.inPieces(values)));
 * ```
 */
export function pausable<Args extends readonly unknown[], Result>(
  work: (...args: Args) => Pausable<Result>,
): PausableFunction<Args, Result> {
  requireArgument("pausable", work, FUNCTION);
  return Object.assign((...args: Args) => runAtOnce(work(...args)), { inPieces: work });
}

/** Runs `work` to its end without a pause. */
export function runAtOnce<T>(work: Pausable<T>): T {
  requireArgument("runAtOnce", work, PAUSABLE);
  for (;;) {
    const piece = work.next();
    if (piece.done) return piece.value;
  }
}

/**
 * Runs `work` on this thread in turns of the event loop of its own, each of about `sliceUs` (0.5 ms).
 *
 * @throws VdError `cancelled` when the signal aborts
 */
export async function runInSlices<T>(work: Pausable<T>, options: SliceOptions = {}): Promise<T> {
  requireArgument("runInSlices", work, PAUSABLE);
  requireFields("runInSlices", options, SLICES);
  const { signal, where = "computation", sliceUs = SLICE_US } = options;
  for (;;) {
    await ownTurn();
    if (signal?.aborted) {
      work.return(undefined as never); // Lets go of what it holds, such as open files.
      throw cancelledError(where, { signal });
    }
    const end = performance.now() + sliceUs / 1_000;
    do {
      const piece = work.next();
      if (piece.done) return piece.value;
    } while (performance.now() < end);
  }
}

/** Values between two pauses of {@link mapFloats}. */
const PIECE = 4_096;

/** Returns what `map` makes of `values`, piece by piece: it writes results for `piece` into `result`, whose first value
 *  has the index `begin`. */
export const mapFloats = pausable(function* (
  values: Float32Array,
  map: (piece: Float32Array, result: Float32Array, begin: number) => void,
): Pausable<Float32Array> {
  requireArgument("mapFloats values", values, FLOATS_32);
  requireArgument("mapFloats map", map, FUNCTION);
  const result = new Float32Array(values.length);
  for (let begin = 0; begin < values.length; begin += PIECE) {
    map(values.subarray(begin, begin + PIECE), result.subarray(begin, begin + PIECE), begin);
    yield;
  }
  return result;
});
