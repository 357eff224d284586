import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readHistory } from "../../src/history/history-file";
import { benchFile, unetRow } from "../support/files";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

describe("the committed histories", () => {
  it.each(["gpu", "cpu"])("of reports/%s are whole, in order and without a measurement twice", async (kind) => {
    const { measurements } = await readHistory(join(ROOT, "reports", kind, "history.json"));
    expect(measurements.length).toBeGreaterThan(5);
    const dates = measurements.map(({ date }) => Date.parse(date));
    expect(dates).toEqual(dates.toSorted((a, b) => a - b));
    const keys = measurements.map(({ device, command, date }) => `${device} ${command} ${date}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { commit, kernelHash } of measurements) {
      expect(commit).toMatch(/^[0-9a-f]{40}/);
      if (kind === "gpu") expect(kernelHash).toMatch(/^[0-9a-f]{64}$/);
    }
  });
});

describe("vd-bench report --histories", () => {
  it("adds a report once, to the history of its kind of device, and draws all of them", async () => {
    const folder = temporaryFolder();
    for (const kind of ["gpu", "cpu"])
      cpSync(join(ROOT, "reports", kind, "history.json"), join(folder, kind, "history.json"));
    const cpuBefore = readFileSync(join(folder, "cpu/history.json"), "utf8");
    const paths = [1, 2].map((day) => {
      const path = join(folder, `${day}.json`);
      const file = { ...benchFile([unetRow("ours", 1000 * day, 1)]), createdAt: `2026-01-0${day}T00:00:00.000Z` };
      writeFileSync(path, JSON.stringify(file));
      return path;
    });
    const report = () => vdBench(["report", ...paths, "-o", folder, "--histories", folder]);
    expect(await report()).toMatchObject({ status: 0 });
    const after = readFileSync(join(folder, "gpu/history.json"), "utf8");
    expect(
      JSON.parse(after).measurements.filter(({ device }: { device: string }) => device === "Test GPU"),
    ).toHaveLength(2);
    const page = readFileSync(join(folder, "test-gpu-charts.html"), "utf8");
    expect(page).toContain("History: parts");
    // One measurement of ops at most: nothing to draw.
    expect(page).not.toContain("History: ops");
    expect(readFileSync(join(folder, "test-gpu.md"), "utf8")).toMatch(
      /\| unet 2x25, ours \| 1\.00 \| 2\.00 \| 100\.0 % \|/,
    );
    await report();
    expect(readFileSync(join(folder, "gpu/history.json"), "utf8")).toBe(after);
    expect(readFileSync(join(folder, "cpu/history.json"), "utf8")).toBe(cpuBefore);
  });
});
