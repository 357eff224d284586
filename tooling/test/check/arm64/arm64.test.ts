import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../../../build/workspace.mjs";

/** Runs `check:arm64` on a machine without programs. */
function checkArm64(...words: string[]) {
  const options = { encoding: "utf8", env: { PATH: "" } } as const;
  return spawnSync(process.execPath, [join(ROOT, "tooling/check/arm64/main.mjs"), ...words], options);
}

const isTried = process.platform === "linux" && process.arch === "x64";

describe.skipIf(!isTried)("check:arm64 without a cross compiler (on Linux x64)", () => {
  test("is skipped with a sentence on what to install, or fails where it is required", () => {
    const skipped = checkArm64("load");
    expect(skipped).toMatchObject({ status: 0, stdout: expect.stringMatching(/^skipped: .*install-arm64-tools/) });
    const failed = checkArm64("--require", "load");
    expect(failed).toMatchObject({ status: 1, stderr: expect.stringMatching(/aarch64-linux-gnu-g\+\+.*ENOENT/) });
  });

  test("names its parts where it is asked for another", () => {
    expect(checkArm64("speed")).toMatchObject({ status: 2, stderr: expect.stringContaining("there is no part speed") });
  });
});
