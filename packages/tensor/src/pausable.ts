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

/** Runs `work` to its end without a pause. */
export function runAtOnce<T>(work: Pausable<T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done) return piece.value;
  }
}

/**
 * Runs `work` on this thread in turns of the event loop of its own, each of about `sliceUs` (0.5 ms). Rejects with
 * `cancelled` when the signal aborts.
 */
export async function runInSlices<T>(work: Pausable<T>, options: SliceOptions = {}): Promise<T> {
  const { signal, sliceUs = SLICE_US } = options;
  for (;;) {
    await ownTurn();
    if (signal?.aborted) {
      work.return(undefined as never); // Lets go of what it holds, such as open files.
      const where = "generation";
      throw new VdError({ code: "cancelled", where, expected: "to finish", got: "an abort", cause: signal.reason });
    }
    const end = performance.now() + sliceUs / 1_000;
    do {
      const piece = work.next();
      if (piece.done) return piece.value;
    } while (performance.now() < end);
  }
}

/** Values between two pauses of {@link mapPausable}. */
const PIECE = 4_096;

/** What `map` makes of `values`, piece by piece: it writes results for `piece` into `result`, whose first value has the
 *  index `begin`. */
export function* mapPausable(
  values: Float32Array,
  map: (piece: Float32Array, result: Float32Array, begin: number) => void,
): Pausable<Float32Array> {
  const result = new Float32Array(values.length);
  for (let begin = 0; begin < values.length; begin += PIECE) {
    map(values.subarray(begin, begin + PIECE), result.subarray(begin, begin + PIECE), begin);
    yield;
  }
  return result;
}
