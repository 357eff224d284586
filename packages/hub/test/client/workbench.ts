import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { FakeHub } from "../../../../tooling/testing/fake-hub";
import type { HubOptions, HubTuning } from "../../src/index";

/** Waits of milliseconds instead of seconds. */
export const QUICK: Partial<HubTuning> = {
  baseDelayMs: 1,
  maxDelayMs: 5,
  idleTimeoutMs: 2_000,
  progressIntervalMs: 0,
  lockPollMs: 5,
  lockStaleMs: 300,
};

export interface Workbench {
  hub: FakeHub;
  cacheDir: string;
  /** Options for the fake Hub and an empty cache, with an empty environment. */
  options(more?: HubOptions): HubOptions;
}

/** A fake Hub and an empty cache for each test of a file. */
export function useWorkbench(): Workbench {
  const bench = {} as Workbench;
  beforeEach(async () => {
    bench.hub = await FakeHub.start();
    bench.cacheDir = await mkdtemp(join(tmpdir(), "vd-hub-"));
    bench.options = ({ tuning, ...more } = {}) => ({
      endpoint: bench.hub.endpoint,
      cacheDir: bench.cacheDir,
      environment: { HOME: bench.cacheDir },
      tuning: { ...QUICK, ...tuning },
      ...more,
    });
  });
  afterEach(async () => {
    await bench.hub.stop();
    await rm(bench.cacheDir, { recursive: true, force: true });
  });
  return bench;
}

/** Compares contents as a whole: a comparison element by element takes seconds for megabytes. */
export function expectSame(found: Buffer, wanted: Buffer | undefined): void {
  expect(found.length).toBe(wanted?.length);
  expect(found.equals(wanted as Buffer)).toBe(true);
}
