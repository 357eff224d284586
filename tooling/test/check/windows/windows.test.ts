import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

interface Result {
  name: string;
  faults: string[];
}

/** What `pnpm check:windows` finds, or why it cannot look. It downloads nothing here. */
function checkWindows(): { skipped?: string; results?: Result[] } {
  const words = ["tooling/check/windows/main.mjs", "--cached", "--json"];
  const { stdout, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: "utf8", timeout: 600_000 });
  const line = stdout.trim().split("\n").at(-1) ?? "";
  if (!line.startsWith("{")) throw new Error(`${stdout}\n${stderr}`);
  return JSON.parse(line);
}

const { skipped, results = [] } = checkWindows();
// .ci/run prepared everything: whatever is missing then is a fault, not a reason to skip.
if (process.env.VD_CI_REQUIRES_WINDOWS === "1")
  test("CI requires that the Windows binary can be tried", () => expect(skipped).toBeUndefined());

describe.skipIf(skipped !== undefined)(`a real node.exe under Wine${skipped ? ` (skipped: ${skipped})` : ""}`, () => {
  // One test at least, so that a skip is seen.
  const names = results.length > 0 ? results.map(({ name }) => name) : ["everything"];
  test.each(names)("%s", (name) => {
    expect(results.find((result) => result.name === name)?.faults).toEqual([]);
  });
});
