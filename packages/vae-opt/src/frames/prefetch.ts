import { orAborted } from "../until-aborted";

/** How far to read ahead. */
export interface PrefetchOptions {
  /** Results that are made or kept before they are taken. */
  prefetch: number;
  /** Results that are made at a time. */
  workers: number;
}

/** Yields the results of `load` for every item in order; several are made at a time, and no more than `prefetch` ahead of
 *  whoever takes them. The first failure ends it, in its place. */
export async function* inOrder<Item, Result>(
  items: readonly Item[],
  load: (item: Item) => Promise<Result>,
  { prefetch, workers }: PrefetchOptions,
): AsyncGenerator<Result> {
  const running = new Set<Promise<unknown>>();
  const ahead: Promise<Result>[] = [];
  let next = 0;
  let isOver = false;
  const startNext = async (item: Item): Promise<Result> => {
    while (running.size >= workers && !isOver) await Promise.race(running);
    // Nobody takes it any more: what waited for its turn is not begun.
    if (isOver) return new Promise<never>(() => {});
    const result = load(item);
    const settled: Promise<unknown> = result.then(
      () => running.delete(settled),
      () => running.delete(settled),
    );
    running.add(settled);
    return result;
  };
  const fill = () => {
    while (next < items.length && ahead.length < prefetch) {
      const result = startNext(items[next++]!);
      // Whoever takes it hears of its failure; until then it must not count as unheard.
      result.catch(() => undefined);
      ahead.push(result);
    }
  };
  try {
    for (fill(); ahead.length > 0; fill()) yield await ahead.shift()!;
  } finally {
    isOver = true;
    await Promise.allSettled(running);
  }
}

/** What ends reading ahead before its source does. */
export interface ReadAheadOptions {
  /** Results that are asked for before they are taken. */
  prefetch: number;
  signal?: AbortSignal | undefined;
  /** What is thrown once the signal has fired. */
  aborted: () => Error;
  /** True for a source that always answers, whose end is waited for in any case; of others only where they owe no answer. */
  answers: boolean;
}

/** Yields what `source` yields, and asks for up to `prefetch` of it before they are taken. Once the signal fires it ends, also
 *  where the source does not answer; then, and where the loop is left meanwhile, the source is told and not waited for. */
export async function* readAhead<T>(
  source: AsyncIterable<T>,
  { prefetch, signal, aborted, answers }: ReadAheadOptions,
): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const ahead: Promise<IteratorResult<T>>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let numOwed = 0;
  const ask = () => {
    numOwed++;
    // One after the other, also where the source is no generator.
    const result = last.then(() => iterator.next()).finally(() => numOwed--);
    last = result.catch(() => undefined);
    result.catch(() => undefined);
    ahead.push(result);
  };
  try {
    for (let i = 0; i < prefetch; i++) ask();
    for (;;) {
      const { done, value } = await orAborted(ahead.shift()!, signal, aborted);
      if (done) return;
      ask();
      yield value;
    }
  } finally {
    const ended = Promise.all([iterator.return?.(), last]);
    if (signal?.aborted || (numOwed > 0 && !answers)) ended.catch(() => undefined);
    else await ended;
  }
}
