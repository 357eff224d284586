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
  const startNext = async (item: Item): Promise<Result> => {
    while (running.size >= workers) await Promise.race(running);
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
    next = items.length;
    await Promise.allSettled(running);
  }
}

/** Yields what `source` yields, and asks for up to `prefetch` of it before they are taken. */
export async function* readAhead<T>(source: AsyncIterable<T>, prefetch: number): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const ahead: Promise<IteratorResult<T>>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const ask = () => {
    // One after the other, also where the source is no generator.
    const result = last.then(() => iterator.next());
    last = result.catch(() => undefined);
    result.catch(() => undefined);
    ahead.push(result);
  };
  try {
    for (let i = 0; i < prefetch; i++) ask();
    for (;;) {
      const { done, value } = await ahead.shift()!;
      if (done) return;
      ask();
      yield value;
    }
  } finally {
    await iterator.return?.();
    await last;
  }
}
