import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ComparedRun } from "../../src/quality/compare-variants";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

it("quality prints what each way saves and costs, the exact run first", async () => {
  const json = join(await temporaryFolder(), "quality.json");
  const size = ["--frames", "2", "--size", "32x32", "--steps", "4", "--threads", "2", "--json", json];
  const { status, stdout, stderr } = await vdBench(["quality", ...size]);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  const lines = stdout.trim().split("\n");
  expect(lines[0]).toBe("| savings | calls | denoise s | times | PSNR dB | SSIM | latents' distance |");
  expect(lines[2]).toMatch(/^\| exact \| 4 full \| [\d.]+ \| 1\.00 \| same \| 1\.0000 \| 0\.0000 \|$/);
  const { runs, machine } = JSON.parse(readFileSync(json, "utf8")) as { runs: ComparedRun[]; machine: object };
  expect(machine).toMatchObject({ kind: "cpu", device: expect.any(String), commit: expect.any(String) });
  expect(lines).toHaveLength(2 + runs.length);
  const halved = runs.find(({ savings }) => savings.featureInterval === 2)!;
  expect(halved.calls).toMatchObject({ full: 2, "full, reusing": 2 });
  expect(halved.latentDistance).toBeGreaterThan(0);
});
