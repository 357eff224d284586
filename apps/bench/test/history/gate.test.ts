import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withResults } from "../../src/history/append";
import { gateMeasurement } from "../../src/history/gate";
import { emptyHistory, type History, historyText } from "../../src/history/history-file";
import type { BenchFile } from "../../src/measure/report";
import { benchFile, unetRow } from "../support/files";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

/** Results of the day `day` of a build of its own. */
const results = (day: number, rows: BenchFile["rows"], device?: string): BenchFile => {
  const file = benchFile(rows, device);
  const machine = { ...file.machine, commit: `${day}abc, kernels ${day}def` };
  return {
    ...file,
    machine,
    createdAt: `2026-01-0${day}T00:00:00.000Z`,
    options: { model: "m", precision: "float16" },
  };
};
const at = (day: number, medianUs: number, madUs = 1) => results(day, [unetRow("ours", medianUs, madUs)]);

function written(history: History, ...files: BenchFile[]): { history: string; reports: string[] } {
  const folder = temporaryFolder();
  const path = join(folder, "history.json");
  writeFileSync(path, historyText(history));
  const reports = files.map((file, i) => {
    const report = join(folder, `${i}.json`);
    writeFileSync(report, JSON.stringify(file));
    return report;
  });
  return { history: path, reports };
}
const gate = (history: string, ...reports: string[]) =>
  vdBench(["gate", "--history", history, ...(reports.length > 0 ? ["--report", ...reports] : [])]);

describe("a history", () => {
  it("gets each measurement once, in the order of dates, with the build's commit and hash", () => {
    const once = withResults(emptyHistory(), [at(3, 1000), at(1, 1200)]);
    expect(once.measurements.map(({ date, commit, kernelHash }) => [date.slice(0, 10), commit, kernelHash])).toEqual([
      ["2026-01-01", "1abc", "1def"],
      ["2026-01-03", "3abc", "3def"],
    ]);
    expect(withResults(once, [at(3, 1000), at(1, 1200)])).toEqual(once);
    expect(withResults(once, [at(2, 1100)]).measurements.map(({ commit }) => commit)).toEqual(["1abc", "2abc", "3abc"]);
    // A peer's row is none of ours.
    expect(withResults(once, [results(4, [unetRow("diffusers", 1, 0)])])).toEqual(once);
  });

  it("has one line a measurement, so that a new one is one new line", () => {
    const lines = (history: History) => historyText(history).split("\n");
    const before = withResults(emptyHistory(), [at(1, 1000), at(2, 1000)]);
    const after = withResults(before, [at(3, 1000)]);
    expect(lines(after).length).toBe(lines(before).length + 1);
    expect(JSON.parse(historyText(after))).toEqual(after);
  });

  it("compares what is alike: device, capability, model and precision", () => {
    const history = withResults(emptyHistory(), [
      at(1, 500),
      results(1, [unetRow("ours", 1, 0)], "Other GPU"),
      { ...at(1, 1), options: { model: "other", precision: "float16" }, command: "measure" },
      { ...at(1, 1), options: { model: "m", precision: "float32" }, command: "e2e" },
    ]);
    const now = withResults(history, [at(2, 500)]).measurements.at(-1)!;
    const { earlier, rows } = gateMeasurement(history, now);
    expect(earlier).toHaveLength(1);
    expect(rows.map(({ comparison }) => comparison.verdict)).toEqual(["same"]);
  });
});

describe("vd-bench gate", () => {
  it("fails where a row is slower than its best, though not than the last one, and says so in a sentence", async () => {
    const { history, reports } = written(
      withResults(emptyHistory(), [at(1, 1000), at(2, 1200)]),
      at(3, 1210),
      at(3, 1030),
    );
    const slower = await gate(history, reports[0]!);
    expect(slower.status).toBe(1);
    expect(slower.stdout).toMatch(/unet 2x25 +ours +1\.00 +1\.21 +21\.0 % .* slower\n/);
    expect(slower.stdout).toContain(
      "unet 2x25 (ours) takes 21.0 % longer than its best, 1.21 ms instead of 1.00 ms, measured on 2026-01-01 00:00 (commit 1abc, kernels 1def).",
    );
    // Below the least change.
    expect(await gate(history, reports[1]!)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("1 row: 1 at their best within noise."),
    });
  });

  it("takes noise of either side for what it is, whatever the number of rows", async () => {
    const rows = (us: number, mad: number) =>
      Array.from({ length: 200 }, (_, i) => ({ ...unetRow("ours", us, mad), name: `row ${i}` }));
    const { history, reports } = written(
      withResults(emptyHistory(), [results(1, rows(1000, 1))]),
      results(2, rows(1100, 80)),
      results(2, rows(1100, 2)),
    );
    expect((await gate(history, reports[0]!)).status).toBe(0);
    expect((await gate(history, reports[1]!)).stdout).toContain("200 rows: 200 slower than their best.");
  });

  it("judges the last measurements of a history by itself, never beside themselves", async () => {
    const { history } = written(withResults(emptyHistory(), [at(1, 1000)]));
    expect(await gate(history)).toMatchObject({ status: 0, stdout: expect.stringContaining("1 new") });
    const worse = written(withResults(emptyHistory(), [at(1, 1000), at(2, 2000)]));
    expect((await gate(worse.history)).status).toBe(1);
    const mended = written(withResults(emptyHistory(), [at(1, 1000), at(2, 2000), at(3, 990)]));
    expect((await gate(mended.history)).status).toBe(0);
  });

  it("fails where a row no longer runs, and tells of rows that are gone", async () => {
    const before = results(1, [unetRow("ours", 1000, 1), { ...unetRow("ours", 5, 1), name: "old" }]);
    const failed = { suite: "unet", name: "2x25", contender: "ours", reason: "out of memory" };
    const { history, reports } = written(
      withResults(emptyHistory(), [before]),
      results(2, [failed]),
      results(2, [unetRow("ours", 1000, 1)]),
    );
    expect(await gate(history, reports[0]!)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("unet 2x25 (ours) does not run: out of memory."),
    });
    expect(await gate(history, reports[1]!)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Gone since the measurement before: unet old ours."),
    });
  });

  it("no longer asks for what was given up with a reason", async () => {
    const accepted = [
      { device: "Test GPU", row: "unet 2x25 ours", since: "2026-01-02T00:00:00Z", reason: "It now is exact." },
    ];
    const past = { ...withResults(emptyHistory(), [at(1, 1000), at(2, 1200)]), accepted };
    const { history, reports } = written(past, at(3, 1200), at(3, 1500));
    expect(await gate(history, reports[0]!)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("It now is exact."),
    });
    expect((await gate(history, reports[1]!)).status).toBe(1);
  });

  it("says in a sentence what is wrong with a history", async () => {
    const { history } = written(withResults(emptyHistory(), [at(1, 1000)]));
    const complaint = async (change: (text: string) => string) => {
      const path = `${history}.bad.json`;
      writeFileSync(path, change(readFileSync(history, "utf8")));
      const ran = await gate(path);
      expect(ran.status).toBe(1);
      return ran.stderr;
    };
    expect(await complaint((text) => text.slice(0, 50))).toContain("got no JSON");
    expect(await complaint((text) => text.replace("vd-history", "x"))).toContain("got JSON of another kind");
    expect(await complaint((text) => text.replace('"version": 1', '"version": 2'))).toContain("got format version 2");
    expect(await complaint((text) => text.replace("2026-01-01", "soon"))).toContain(
      "got measurement 0 without its date",
    );
    expect(await complaint((text) => text.replace('"medianUs":1000', '"medianUs":"1"'))).toContain("with a row 0");
    expect((await gate(`${history}.gone`)).stderr).toContain("got no such file");
  });
});
