import { expect, it } from "vitest";
import { orAborted, untilAborted } from "../src/until-aborted";

const aborted = () => new Error("aborted");

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of source) found.push(each);
  return found;
}

/** A source that counts how often it is told to end. */
function counted<T>(values: readonly T[], failure?: Error) {
  let [next, ends] = [0, 0];
  const iterator: AsyncIterator<T> = {
    next: async () => {
      if (next < values.length) return { done: false, value: values[next++]! };
      if (failure) throw failure;
      return { done: true, value: undefined };
    },
    return: async () => {
      ends++;
      return { done: true, value: undefined };
    },
  };
  return { source: { [Symbol.asyncIterator]: () => iterator }, ends: () => ends };
}

it("yields what plain and asynchronous sources yield", async () => {
  expect(await all(untilAborted([1, 2], undefined, aborted))).toEqual([1, 2]);
  expect(await all(untilAborted([Promise.resolve(1)], undefined, aborted))).toEqual([1]);
  expect(await all(untilAborted(counted([1, 2]).source, new AbortController().signal, aborted))).toEqual([1, 2]);
});

it("tells a source to end when its loop is left, not when it has ended or failed by itself", async () => {
  const left = counted([1, 2]);
  for await (const _ of untilAborted(left.source, undefined, aborted)) break;
  const ended = counted([1]);
  await all(untilAborted(ended.source, undefined, aborted));
  const failed = counted([1], new Error("gone"));
  await expect(all(untilAborted(failed.source, undefined, aborted))).rejects.toThrow("gone");
  expect([left.ends(), ended.ends(), failed.ends()]).toEqual([1, 0, 0]);
});

it("throws once the signal fires, though the source never answers, and tells the source", async () => {
  const controller = new AbortController();
  let ends = 0;
  const silent: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: () => {
        ends++;
        return new Promise(() => {});
      },
    }),
  };
  const waiting = all(untilAborted(silent, controller.signal, aborted));
  setImmediate(() => controller.abort());
  await expect(waiting).rejects.toThrow("aborted");
  expect(ends).toBe(1);
});

it("hears of a source that fails after the abort, so that no rejection is left unhandled", async () => {
  const unheard: unknown[] = [];
  const hear = (reason: unknown) => void unheard.push(reason);
  process.on("unhandledRejection", hear);
  try {
    const late = new Promise<never>((_, reject) => setImmediate(() => reject(new Error("too late"))));
    await expect(orAborted(late, AbortSignal.abort(), aborted)).rejects.toThrow("aborted");
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(unheard).toEqual([]);
  } finally {
    process.off("unhandledRejection", hear);
  }
});
