import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const SOURCE = pathToFileURL(fileURLToPath(new URL("../../src/io/whole-file.ts", import.meta.url))).href;

it("results are whole whenever the process is killed", async () => {
  const path = join(temporaryFolder(), "out.json");
  // Megabytes, so that a kill falls into the writing.
  const program = `import { writeWholeFile } from ${JSON.stringify(SOURCE)};
for (let i = 0; ; i++) {
  await writeWholeFile(process.argv[1], JSON.stringify({ i, filler: "x".repeat(8e6), end: i }));
  if (i === 0) console.log("written");
}`;
  for (const delayMs of [3, 17, 40]) {
    const args = ["--import", "tsx", "--input-type=module", "-e", program, path];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    await setTimeout(delayMs);
    child.kill("SIGKILL");
    await once(child, "close");
    const { i, end } = JSON.parse(readFileSync(path, "utf8")) as { i: number; end: number };
    expect(end).toBe(i);
  }
});

it("a place where results cannot go is refused before any work", async () => {
  const json = join(temporaryFolder(), "none", "out.json");
  for (const command of [
    ["ops", "tiny.clip", "--json", json],
    ["unet", "--json", json],
    ["measure", "-m", "no-model", "-o", json],
  ]) {
    const started = performance.now();
    const ran = await vdBench(command);
    expect(ran).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("Make its folder first.") });
    expect(performance.now() - started).toBeLessThan(1000);
  }
});
