import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLiveSession, type DriftReport, drift, type LiveSessionOptions } from "@vd/live";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { vdLive } from "../support/harness";

const MODEL = fileURLToPath(new URL("../../../../models/tiny-svd", import.meta.url));
const PICTURE = join(MODEL, "samples/one-ball.png");
/** Small clips of few steps. */
const size = { width: 32, height: 32 };
const openSession = (options: LiveSessionOptions) => createLiveSession({ ...options, size, threads: 1 });
const WORDS = ["--model", MODEL, "--steps", "1", "--clip-frames", "4", "--overlap", "2"];

it("a picture moves without an end, into a pipe", async () => {
  const words = ["-o", "-", "--format", "rgb", ...WORDS, "--input", PICTURE, "--frames", "7", "--distilled"];
  const { status, stdout, stderr } = await vdLive(words, { openSession });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.length).toBe(7 * 32 * 32 * 3);
});

it("drift measures clips, and bench times them with a picture of its own", async () => {
  const folder = temporaryFolder();
  const json = join(folder, "drift.json");
  const words = [
    "drift",
    ...WORDS,
    "--input",
    PICTURE,
    "--frames",
    "20",
    "--every",
    "2",
    "-o",
    join(folder, "drift.html"),
  ];
  const measureDrift: typeof drift = (options) => drift({ ...options, size, threads: 1 });
  expect(await vdLive([...words, "--json", json], { measureDrift })).toMatchObject({ status: 0 });
  const report = JSON.parse(readFileSync(json, "utf8")) as DriftReport;
  expect(report).toMatchObject({ model: "tiny-svd", start: "its picture", steps: 1 });
  expect(report.measures.map(({ frame }) => frame)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  const bench = await vdLive(["bench", ...WORDS, "--frames", "10"], { openSession });
  expect(bench).toMatchObject({ status: 0, stderr: "" });
  expect(bench.stdout.toString()).toMatch(/^tiny-svd on .*, 1 step a frame, 10 frames\n/);
});

it.each([
  [[...WORDS], /expected a picture/],
  [[...WORDS, "--input", "webcam", "--no-open"], /--input\] expected a picture/],
  [[...WORDS, "--input", PICTURE, "--cache"], /--cache\]/],
  [["--motion", "9"], /--motion\] expected a model of clips/],
])("refuses %j", async (words, message) => {
  const headless = words.includes("webcam") ? [] : ["-o", "-", "--frames", "1"];
  const { status, stderr } = await vdLive([...headless, ...words], { openSession });
  expect(status).toBe(2);
  expect(stderr).toMatch(message);
});
