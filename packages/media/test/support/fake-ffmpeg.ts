import { chmodSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";

const SCRIPT = fileURLToPath(new URL("fake-ffmpeg-program.mjs", import.meta.url));

/** Puts a fake ffmpeg in a temporary folder: one that works, lacks encoders, is of before 5.1, finds the disk full, or never ends. */
export function fakeFfmpeg(mood: "good" | "old" | "early" | "full" | "slow"): string {
  const path = join(temporaryFolder(), `${mood}.mjs`);
  copyFileSync(SCRIPT, path);
  chmodSync(path, 0o755);
  return path;
}
