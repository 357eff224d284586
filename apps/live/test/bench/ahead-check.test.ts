import type { LiveFrame, LiveSessionOptions } from "@vd/live";
import { expect, it } from "vitest";
import { checkAhead } from "../../src/bench/ahead-check";
import { FAKE_PICTURES, FakeSession } from "../support/fake-session";

/** Ends after three frames. */
class ShortSession extends FakeSession {
  override async *[Symbol.asyncIterator](): AsyncGenerator<LiveFrame, void> {
    let count = 0;
    for await (const frame of super[Symbol.asyncIterator]()) {
      if (count++ === 3) return;
      yield frame;
    }
  }
}

it("counts frames that differ, and those that are missing", async () => {
  // A fake's frames have the first pixel of the newest picture, whatever is begun ahead.
  const open = async (options: LiveSessionOptions) => new FakeSession(options, FAKE_PICTURES);
  const { frames, differing } = await checkAhead(open, { ahead: 2 }, new AbortController().signal);
  expect(frames).toBe(26);
  expect(differing).toBeGreaterThan(20);
  const short = async (options: LiveSessionOptions) =>
    options.ahead ? new ShortSession(options, FAKE_PICTURES) : new FakeSession(options, FAKE_PICTURES);
  const missing = await checkAhead(short, { ahead: 1 }, new AbortController().signal);
  expect(missing.differing).toBeGreaterThanOrEqual(22);
});

it("stops at the signal, and leaves no session open", async () => {
  const opened: FakeSession[] = [];
  const open = async (options: LiveSessionOptions) => {
    opened.push(new FakeSession(options, FAKE_PICTURES));
    return opened.at(-1)!;
  };
  await expect(checkAhead(open, { ahead: 1 }, AbortSignal.abort())).rejects.toThrow(/abort/i);
  expect(opened.map(({ closed }) => closed)).toEqual([true]);
});
