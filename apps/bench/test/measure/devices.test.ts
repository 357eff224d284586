import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { BenchFile } from "../../src/measure/report";
import { largestDifference, psnrOfBytes } from "../../src/stats/summary";
import { TINY_SVD, vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const SMALL = ["--frames", "3", "--size", "32x32", "--steps", "2", "--threads", "2", "--e2e-rounds", "2"];

it("vd-bench e2e --devices runs several devices beside the first: times, gain, distance of the frames", async () => {
  const json = join(temporaryFolder(), "out.json");
  const { status, stderr, stdout } = await vdBench([
    "e2e",
    "-m",
    TINY_SVD,
    "--devices",
    "cpu,cpu",
    "--json",
    json,
    ...SMALL,
  ]);
  expect(stderr).toMatch(/cpu,cpu against cpu: e2e \d\.\d+x, denoise \d\.\d+x, decode \d\.\d+x/);
  expect(stderr).toMatch(
    /frames of cpu,cpu against cpu: (the same bytes|PSNR \d+\.\d+ dB), largest difference [01] of 255/,
  );
  expect(status).toBe(0);
  const { rows, command } = JSON.parse(readFileSync(json, "utf8")) as BenchFile;
  expect(command).toBe("e2e");
  const shown = rows.map(({ name, contender, samplesUs }) => [name.split(",")[0], contender, samplesUs!.length]);
  expect(shown).toEqual(
    ["cpu", "cpu,cpu"].flatMap((contender) => ["e2e", "denoise", "decode"].map((part) => [part, contender, 2])),
  );
  expect(stdout).toContain("cpu,cpu");
});

it("vd-bench e2e --devices wants two", async () => {
  const { status, stderr } = await vdBench(["e2e", "-m", TINY_SVD, "--devices", "cpu", ...SMALL]);
  expect([status, stderr]).toEqual([2, "Error: [--devices] expected two devices or more, got cpu\n"]);
});

it("distances of pictures", () => {
  const [a, b] = [Uint8Array.of(0, 10, 20, 30), Uint8Array.of(0, 12, 20, 30)];
  expect(psnrOfBytes(a, b)).toBeCloseTo(10 * Math.log10(255 ** 2), 6);
  expect(largestDifference(a, b)).toBe(2);
});
