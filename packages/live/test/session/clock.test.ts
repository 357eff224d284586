import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../src/session/clock";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const DAY_MS = 86_400_000;

test("calls back at a time, or soon after where it has passed", () => {
  const called = vi.fn();
  systemClock.at(systemClock.now() + 40, called);
  systemClock.at(systemClock.now() - 40, called);
  vi.advanceTimersByTime(1);
  expect(called).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(39);
  expect(called).toHaveBeenCalledTimes(2);
});

test("waits for longer than a timer can, and for ever", () => {
  const [inDays, never, cancelled] = [vi.fn(), vi.fn(), vi.fn()];
  systemClock.at(systemClock.now() + 60 * DAY_MS, inDays);
  systemClock.at(Number.POSITIVE_INFINITY, never);
  const cancel = systemClock.at(systemClock.now() + 60 * DAY_MS, cancelled);
  vi.advanceTimersByTime(59 * DAY_MS);
  expect(inDays).not.toHaveBeenCalled();
  cancel();
  vi.advanceTimersByTime(2 * DAY_MS);
  expect([inDays, never, cancelled].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0]);
});
