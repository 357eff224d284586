import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import type { BenchFile } from "../../src/measure/report";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

it("a run that is stopped ends with 130 and keeps the cases that were finished, whole", async () => {
  const folder = temporaryFolder();
  const json = join(folder, "out.json");
  const stop = new AbortController();
  // More rounds than there is patience for: only the stop ends it.
  const many = ["--threads", "1", "--rounds", "10000", "--repeats", "3", "--limit", "1"];
  const running = vdBench(["ops", "tiny.unet.down0", "--no-peers", ...many, "--json", json], stop.signal);
  while (!existsSync(json)) await setTimeout(20);
  stop.abort(new Error("stopped by hand"));
  const ran = await running;
  expect(ran).toMatchObject({ status: 130, stdout: "", stderr: expect.stringContaining("finished parts are kept") });
  const { rows } = JSON.parse(readFileSync(json, "utf8")) as BenchFile;
  expect(rows[0]).toMatchObject({ contender: "ours", medianUs: expect.any(Number) });
  expect(readdirSync(folder)).toEqual(["out.json"]);
});
