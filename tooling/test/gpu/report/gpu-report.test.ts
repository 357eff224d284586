import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("../../../gpu/report/main.mjs", import.meta.url));

const summary = { offMs: 312, onMs: 313.5, ratio: 1.0048, lowerQuartile: 1.003, upperQuartile: 1.006, numPairs: 12 };
const ran = { numReplayed: 0, numLaunched: 0, numTimed: 0, numRows: 700, numLaunches: 910 };
const FILES = {
  "overhead.json": {
    options: { numFrames: 25, width: 1024, height: 576, steps: 6, rounds: 3 },
    summary: { step: summary, wall: summary, cpu: summary },
    ran: { off: { ...ran, numReplayed: 6 }, on: { ...ran, numLaunched: 6, numTimed: 6 } },
  },
  "ops-h200.json": {
    options: { rounds: 3 },
    versions: { torch: "2.11.0" },
    rows: [
      {
        suite: "ops",
        name: "sampler_step.svd-xt.sampler_step",
        contender: "ours",
        medianUs: 20,
        madUs: 1,
        launches: 1,
      },
      {
        suite: "ops",
        name: "sampler_step.svd-xt.sampler_step",
        contender: "pytorch",
        medianUs: 90,
        madUs: 1,
        launches: 12,
      },
      { suite: "ops", name: "attention.origin.2x8x77x64", contender: "pytorch", reason: "no PyTorch" },
      { suite: "ops", name: "linear.a", contender: "ours", medianUs: 5, madUs: 0.1, samplesUs: [4.9, 5, 5.1] },
    ],
  },
  "kernels.json": {
    ...{ cupti: "", nvtx: "", numRanges: 44 },
    plain: {
      graph: { numRuns: 4, planned: 2000, seen: 2000, numDifferent: 0 },
      rows: { numRuns: 3, planned: 300, seen: 300, numDifferent: 0 },
    },
    profiled: {
      graph: { numRuns: 0, planned: 0, seen: 0, numDifferent: 0 },
      rows: { numRuns: 7, planned: 2300, seen: 2299, numDifferent: 1 },
    },
  },
  "sanitizer.json": [
    { tool: "memcheck", cases: 1231, errors: 0, seconds: 93.4, kernelHash: "0123456789abcdef" },
    { tool: "racecheck", cases: 400, mostElements: 6000, errors: 2, seconds: 120, kernelHash: "0123456789abcdef" },
  ],
} as const;

function report(files: Readonly<Record<string, unknown>>) {
  const folder = mkdtempSync(join(tmpdir(), "vd-gpu-report-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, contents] of Object.entries(files))
    writeFileSync(join(folder, name), typeof contents === "string" ? contents : JSON.stringify(contents));
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, folder], { encoding: "utf8" });
  return { status, stderr, page: () => readFileSync(join(folder, "README.md"), "utf8") };
}

test("every file that is there becomes a section", () => {
  const { status, stderr, page } = report(FILES);
  expect(status, stderr).toBe(0);
  const text = page();
  expect(text).toContain("| a step of the denoiser | 312.00 | 313.50 | 1.0048 | 1.0030 to 1.0060 | 12 |");
  expect(text).toContain("without a profiler: 6 replays of a graph, 0 with every row timed; 700 rows, 910 launches");
  expect(text).toContain("With one: 6 runs row by row, 6 with every row timed");
  expect(text).toContain("| sampler_step.svd-xt.sampler_step | pytorch | 0.0900 | (1 sample) | 1 | 4.50x | 12 |  |");
  expect(text).toContain("| attention.origin.2x8x77x64 | pytorch | no PyTorch |");
  expect(text).toContain("| linear.a | ours | 0.0050 | 0.0001 | 3 |");
  expect(text).toContain("| with a profiler, rows | 7 | 2300 | 2299 | 1 |");
  expect(text).not.toContain("with a profiler, graphs");
  expect(text).toContain("heard 44 ranges");
  expect(text).toContain("| racecheck | 400 | 6000 | 2 | 120 | 01234567 |");
  expect(text).not.toMatch(/undefined|NaN/);
});

test("the committed page is what the program makes of the committed results", () => {
  const committed = fileURLToPath(new URL("../../../../reports/gpu", import.meta.url));
  const names = readdirSync(committed).filter((name) => name.endsWith(".json"));
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(committed, name), "utf8")]));
  const { status, stderr, page } = report(files);
  expect(status, stderr).toBe(0);
  expect(page()).toBe(readFileSync(join(committed, "README.md"), "utf8"));
  expect(page()).not.toMatch(/\b[0-9a-f]{12,}\b/);
});

test("a file that is not there leaves its section out, a broken one is named", () => {
  const { page } = report({ "sanitizer.json": FILES["sanitizer.json"] });
  expect(page().match(/^## .*$/gm)).toEqual(["## Memory checker"]);
  const broken = report({ "overhead.json": '{"options"' });
  expect(broken.status).not.toBe(0);
  expect(broken.stderr).toMatch(/overhead\.json is no JSON/);
});
