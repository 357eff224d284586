/**
 * Runs `work` for each item, at most `limit` at a time. After the first failure no further item starts and `stop` is
 * called, so that those under way can end early; the first failure is thrown once all have ended.
 */
export async function forEachParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
  stop: () => void,
): Promise<void> {
  const queue = [...items];
  let failure: { error: unknown } | undefined;
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await work(item);
      } catch (error) {
        failure ??= { error };
        queue.length = 0;
        stop();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failure !== undefined) throw failure.error;
}
