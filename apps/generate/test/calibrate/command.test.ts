import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { runCommand } from "../support/harness";

const PICTURE = "models/tiny-svd/samples/one-ball.png";
const QUICK = ["--frames", "2", "--size", "32x32", "--steps", "1", "--threads", "2", "--seed", "1"];

it("calibrate writes a table of the bundled model and says what it has", async () => {
  const output = join(temporaryFolder(), "table.json");
  const { status, stdout, stderr } = await runCommand(["calibrate", PICTURE, ...QUICK, "-o", output]);
  expect(status, stderr).toBe(0);
  expect(stdout).toMatch(/table\.json: 72 layers, \d+ of them smoothed for int8/);
  const table = JSON.parse(readFileSync(output, "utf8")) as { format: string; layers: object };
  expect([table.format, Object.keys(table.layers).length]).toEqual(["vd-calibration", 72]);
});

it("calibrate needs a picture, a folder that is there, and shows its help", async () => {
  expect((await runCommand(["calibrate"])).status).toBe(2);
  const missing = await runCommand(["calibrate", PICTURE, "-o", "/no/such/folder/table.json"]);
  expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining("--output")]);
  expect((await runCommand(["calibrate", "--help"])).stdout).toContain("--steps");
});
