/** Returns what all of some promises give, once all have ended, also when one fails: what they work with may be freed then. */
export async function together<T extends readonly unknown[]>(
  promises: {
    readonly [K in keyof T]: Promise<T[K]>;
  },
): Promise<T> {
  await Promise.allSettled(promises);
  return (await Promise.all(promises)) as unknown as T;
}
