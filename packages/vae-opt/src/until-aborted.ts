/** Resolves as `result` does, or rejects once the signal fires, whatever `result` waits for. aborted: makes the error. */
export function orAborted<T>(result: Promise<T>, signal: AbortSignal | undefined, aborted: () => Error): Promise<T> {
  if (!signal) return result;
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(aborted());
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    // Heard in any case: a rejection that comes after the abort would end the process.
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

const asyncIteratorOf = <T>(source: Iterable<T> | AsyncIterable<T>): AsyncIterator<T> =>
  Symbol.asyncIterator in source
    ? source[Symbol.asyncIterator]()
    : (async function* () {
        yield* source;
      })();

/** Yields what `source` yields, and ends it with the loop. Once the signal fires it throws, also where the source does not
 *  answer; then the source is told, and not waited for. */
export async function* untilAborted<T>(
  source: Iterable<T> | AsyncIterable<T>,
  signal: AbortSignal | undefined,
  aborted: () => Error,
): AsyncGenerator<T, void, void> {
  const iterator = asyncIteratorOf(source);
  // What has ended or failed by itself is not told to end.
  let hasEnded = false;
  try {
    for (;;) {
      const { done = false, value } = await orAborted(Promise.resolve(iterator.next()), signal, aborted);
      hasEnded = done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    hasEnded = signal?.aborted !== true;
    throw error;
  } finally {
    const ended = hasEnded ? undefined : Promise.resolve(iterator.return?.());
    if (signal?.aborted) ended?.catch(() => undefined);
    else await ended;
  }
}
