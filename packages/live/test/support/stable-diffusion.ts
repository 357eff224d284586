import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import type { LivePicture } from "../../src/index";

/** The small random model of the goldens. */
export const STABLE_DIFFUSION = fileURLToPath(new URL("../../../../fixtures/stable-diffusion/model", import.meta.url));

/** A copy of it whose JSON files have other values. changes: by the file's path. */
export function changedModel(changes: Readonly<Record<string, Record<string, unknown>>>): string {
  const folder = join(temporaryFolder(), "model");
  cpSync(STABLE_DIFFUSION, folder, { recursive: true });
  for (const [name, values] of Object.entries(changes)) {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...values }));
  }
  return folder;
}

/** A picture of one colour with a slope over it. */
export const slope = (red: number, side = 32): LivePicture => ({
  ...{ width: side, height: side },
  data: Uint8Array.from({ length: 3 * side * side }, (_, i) => (i % 3 === 0 ? red : (i * 255) / (3 * side * side))),
});
