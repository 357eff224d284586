import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { WORKER_KINDS } from "./termination/calls";

const program = fileURLToPath(new URL("termination/main.ts", import.meta.url));
const tsconfig = fileURLToPath(new URL("../tsconfig.json", import.meta.url));
/** Workers to stop: two of each kind. `pnpm check:sanitizers --full` stops 10,000. */
const numWorkers = 2 * WORKER_KINDS.length;
const NUM_AT_ONCE = 4;

test("a worker that is stopped inside any call of the addon ends alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-termination-"));
  const journal = join(folder, "journal.txt");
  try {
    const args = ["--import", "tsx", program, journal, String(numWorkers), String(NUM_AT_ONCE)];
    const env = { ...process.env, TSX_TSCONFIG_PATH: tsconfig };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [status, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number | null, string | null]>,
    ]);
    if (status !== 0)
      throw new Error(
        `the process ended with ${signal ?? status} during:\n${readFileSync(journal, "utf8")}\n${stderr.slice(-4000)}`,
      );
    const stopped = JSON.parse(stdout) as Record<string, number>;
    expect(Object.keys(stopped).sort()).toEqual(WORKER_KINDS.map(({ name }) => name).sort());
    expect(Object.values(stopped).reduce((sum, count) => sum + count, 0)).toBe(numWorkers);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 300_000);
