import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { machineInfo } from "@vd/app-parts";
import { type DriftMeasure, type DriftOptions, type DriftReport, drift } from "@vd/live";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import type { BenchResults } from "../../src/commands/bench";
import type { Dependencies } from "../../src/dependencies";
import { fakeSessions } from "../support/fake-session";
import { startVdLive, vdLive } from "../support/harness";

it("bench times frames and key presses, and writes them as JSON", async () => {
  const path = join(temporaryFolder(), "live.json");
  const { status, stdout, stderr } = await vdLive(["bench", "--frames", "10", "--presses", "3", "--json", path]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.toString()).toMatch(/^fake-live on .*, 1 step a frame, 10 frames\n {2}[\d.]+ frames a second, \d+ MiB/);
  const results = JSON.parse(readFileSync(path, "utf8")) as BenchResults;
  expect(results).toMatchObject({ model: "fake-live", frames: 10, steps: 1, node: process.version });
  // As vd-bench writes it, so that whoever reads reports knows the device and the kernels.
  expect(results.machine).toEqual(machineInfo("cpu", 0));
  expect(results.machine.device).toBe(results.device);
  // The fake says that a frame takes a millisecond; it makes one every 20.
  expect(results.frameMs).toEqual({ mean: 1, p50: 1, p95: 1, p99: 1, max: 1 });
  expect(results).not.toHaveProperty("deviceBytes");
  expect(results.keyToPictureMs!.p50).toBeGreaterThan(0);
  expect(results.keyToPictureMs!.p99).toBeGreaterThanOrEqual(results.keyToPictureMs!.p50);
  expect(results.peakRssBytes).toBeGreaterThan(2 ** 20);
  // Whether anybody else was at work decides what the slowest frames say.
  expect(results.loadBefore).toBeGreaterThanOrEqual(0);
  expect(results.processors).toBe(availableParallelism());
  expect(stdout.toString()).toMatch(/\n {2}p99 is 1\.00 x p50; load average before it [\d.]+ on \d+ processors\n/);
});

it("bench says what the reference has and takes, and passes on types and frames begun ahead", async () => {
  const asked: unknown[] = [];
  const { openSession } = fakeSessions();
  const words = ["bench", "--random", "unet-chain", "--precision", "float8", "--ahead", "1", "--frames", "10"];
  const { status, stdout } = await vdLive([...words, "--presses", "0"], {
    openSession: (options) => {
      const { random, precision, ahead } = options;
      asked.push({ random, precision, ahead });
      return openSession(options);
    },
  });
  expect(status).toBe(0);
  expect(stdout.toString()).toMatch(/\n {2}880\.26 million parameters, 142\.4 GFLOP a frame\n/);
  // A model of this size is loaded once.
  expect(asked).toEqual([{ random: "unet-chain", precision: "float8", ahead: 1 }]);
});

it("bench times sessions at the same time on several devices, beside one", async () => {
  const path = join(temporaryFolder(), "live.json");
  const asked: [number, readonly (string | number)[], number | undefined][] = [];
  const { openSession } = fakeSessions();
  const openSessions: Dependencies["openSessions"] = (list, { devices, threads }) => {
    asked.push([list.length, devices, threads]);
    return Promise.all(list.map((options) => openSession(options)));
  };
  const words = ["bench", "--frames", "10", "--presses", "0", "--devices", "0,1", "--sessions", "3", "--threads", "2"];
  const { status, stdout } = await vdLive([...words, "--json", path], { openSession, openSessions });
  expect(status).toBe(0);
  expect(asked).toEqual([
    [1, ["cuda:0"], 2],
    [3, ["cuda:0", "cuda:1"], 2],
  ]);
  expect(stdout.toString()).toMatch(
    /\n {2}3 sessions on cuda:0,cuda:1: [\d.]+ frames a second together, [\d.]+ the slowest; one alone [\d.]+\n/,
  );
  const { together } = JSON.parse(readFileSync(path, "utf8")) as BenchResults;
  expect(together!.each.length).toBe(3);
  expect(together!.fps).toBeCloseTo(
    together!.each.reduce((sum, fps) => sum + fps),
    6,
  );
});

it("bench stops when it is told to, and writes nothing", async () => {
  const path = join(temporaryFolder(), "live.json");
  const live = startVdLive(["bench", "--frames", "1000", "--presses", "1000", "--json", path]);
  setTimeout(live.stop, 50);
  expect(await live.ended).toMatchObject({ status: 130, stderr: "Stopped; nothing was written.\n" });
  expect(existsSync(path)).toBe(false);
});

/** Measures of a game that fades. */
function fading(options: DriftOptions): DriftReport {
  const measures = Array.from({ length: 20 }, (_, i): DriftMeasure => {
    const life = 1 - i / 20;
    const mean = [life, 0, -life] as const;
    const rest = { contrast: life, detail: life, temporal: life, saturation: life, colourEntropy: 6 * life };
    return { frame: 10 * i, mean, ...rest, colourDrift: 1 - life, repetition: life, collapse: 1 - life };
  });
  const summary = (measure: DriftMeasure) => ({ ...measure, frames: [measure.frame, measure.frame] as const });
  return {
    ...{ model: "fake-live", start: "a<b", steps: 1, seed: options.seed!, frames: options.frames!, measures },
    ...{ guard: { renoise: 0, anchor: 0.25, recover: 0.05 }, collapsed: true },
    ...{ atStart: summary(measures[0]!), atEnd: summary(measures[19]!) },
  };
}

it("drift writes a page with plots, JSON, and says whether the picture lives", async () => {
  const folder = temporaryFolder();
  const [page, json] = [join(folder, "drift.html"), join(folder, "drift.json")];
  const asked: DriftOptions[] = [];
  const measureDrift = async (options: DriftOptions) => {
    asked.push(options);
    const report = fading(options);
    for (const measure of report.measures) options.onMeasure?.(measure);
    return report;
  };
  const words = ["drift", "--frames", "200", "--every", "10", "--anchor", "0.25", "-o", page, "--json", json];
  const { status, stdout, stderr } = await vdLive(words, { measureDrift });
  expect(status).toBe(0);
  expect(asked[0]).toMatchObject({ frames: 200, everyFrames: 10, guard: { renoise: 0, anchor: 0.25 }, device: "cpu" });
  expect(stdout.toString()).toContain("the picture has collapsed");
  expect(stderr.split("\n").length).toBeGreaterThan(8);
  const html = readFileSync(page, "utf8");
  expect(html.match(/<figure>/g)?.length).toBe(7);
  expect(html).toContain("From a&lt;b, 1 step a frame");
  expect(html).not.toMatch(/(?:src|href)="http/);
  expect((JSON.parse(readFileSync(json, "utf8")) as DriftReport).measures.length).toBe(20);
});

it("drift names the flag of what a run refuses", async () => {
  const words = ["drift", "--frames", "20", "--every", "30", "-o", join(temporaryFolder(), "drift.html")];
  const { status, stderr } = await vdLive(words, { measureDrift: drift });
  expect([status, stderr]).toEqual([2, "Error: [--frames] expected a whole number of at least 30, got 20.\n"]);
});

it("drift tells before the game that its files cannot be written", async () => {
  const { status, stderr } = await vdLive(["drift", "-o", join(temporaryFolder(), "none", "drift.html")]);
  expect([status, stderr]).toEqual([1, expect.stringContaining("[--output] expected a folder that exists")]);
});
