import { cancelledError, FUNCTION, listOf, requireArgument, TEXT } from "@vd/kernels-native";

/** What is called with a value and may answer with a promise. Callers' own types say `void`, which async functions fit. */
// biome-ignore lint/suspicious/noExplicitAny: any function that a caller hands over
type Callback = (...args: any[]) => unknown;

/** The names of options that are functions. */
type CallbackName<Options> = {
  [Name in keyof Options]-?: NonNullable<Options[Name]> extends Callback ? Name : never;
}[keyof Options];

const NAMES = listOf(TEXT);

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (Object(value) as Partial<PromiseLike<unknown>>).then === "function";
}

/** The promises that callbacks answered with. */
class Answers {
  private readonly open = new Set<Promise<void>>();
  private failure: { error: unknown } | undefined;

  /** The callback, whose calls throw once an earlier answer was a rejection. */
  watched<C extends Callback>(callback: C): C {
    const call = (...args: Parameters<C>): unknown => {
      this.throwIfFailed();
      const answer = callback(...args);
      if (isThenable(answer)) this.keep(answer);
      return answer;
    };
    return call as C;
  }

  private keep(answer: PromiseLike<unknown>): void {
    const kept: Promise<void> = Promise.resolve(answer).then(
      () => void this.open.delete(kept),
      (error: unknown) => {
        this.failure ??= { error };
        this.open.delete(kept);
      },
    );
    this.open.add(kept);
  }

  private throwIfFailed(): void {
    if (this.failure) throw this.failure.error;
  }

  /** Waits for the answers that are still open. */
  async settle(where: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.open.size > 0) await settledOrAborted([...this.open], where, signal);
    this.throwIfFailed();
  }
}

async function settledOrAborted(open: readonly Promise<void>[], where: string, signal: AbortSignal | undefined) {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(cancelledError(where, { signal }));
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([Promise.all(open), aborted]);
  } finally {
    if (stop) signal?.removeEventListener("abort", stop);
  }
}

/**
 * Runs work that calls its caller's functions. If one of them answers with a promise that rejects, as async functions do,
 * the work fails with that error: at its next call of a callback, or at its end, where it waits for the promises that are
 * still open. No rejection is left unhandled.
 *
 * @param options what the caller gave; its `signal` also ends the waiting
 * @param names the options that are callbacks
 * @param where the work, for the error of an abort, such as `generation`
 * @throws what the work or a callback throws, VdError `cancelled`
 * @example
 * ```ts
 * import { withCallbacks } from "@vd/tensor";
 *
 * const copyAll = (options: { onFile?: ((name: string) => void) | undefined }) =>
 *   withCallbacks(options, ["onFile"], "copying", async ({ onFile }) => {
 *     for (const name of ["a", "b"]) onFile?.(name);
 *   });
 * await copyAll({ onFile: async (name) => console.log(name) });
 * ```
 */
export async function withCallbacks<Options extends { signal?: AbortSignal | undefined }, Result>(
  options: Options,
  names: readonly CallbackName<Options>[],
  where: string,
  work: (options: Options) => Promise<Result>,
): Promise<Result> {
  requireArgument("withCallbacks names", names, NAMES);
  requireArgument("withCallbacks work", work, FUNCTION);
  // What else a caller passed is for the work to refuse.
  if (typeof options !== "object" || options === null) return work(options);
  const answers = new Answers();
  const watched: Record<PropertyKey, unknown> = { ...options };
  for (const name of names) {
    const callback = options[name];
    if (typeof callback === "function") watched[name] = answers.watched(callback as Callback);
  }
  const result = await work(watched as Options);
  await answers.settle(where, options.signal);
  return result;
}
