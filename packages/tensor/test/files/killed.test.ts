import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";

const SOURCE = pathToFileURL(fileURLToPath(new URL("../../src/files/whole-file.ts", import.meta.url))).href;

it("files are whole whenever the process is killed", async () => {
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
