import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { valueError } from "@vd/svd-pipeline/options";
import type { Dependencies } from "./dependencies";
import type { Settings } from "./settings";

/** `-`, or `-.gif` for another format than MP4. */
const STANDARD_OUTPUT = /^-(\.[a-z0-9]+)?$/i;

/** Whether an output is standard output. */
export const isStandardOutput = (output: string): boolean => STANDARD_OUTPUT.test(output);

/** What cannot go with a video on standard output: what is written there too, or beside a file. */
function refuseBeside({ output, json, open, preview, resume }: Settings): void {
  const beside =
    (json && "--json") ||
    (open && "--open") ||
    (preview === true && "--preview without a file") ||
    (resume === true && "--resume without a folder");
  if (beside) throw valueError("--output", `a file beside ${beside}`, output, `Leave out ${beside}, or name a file`);
  if (output.toLowerCase() === "-.png")
    throw valueError("--output", "a format of one file", output, "Write -.webp, or name files as in frame-%03d.png");
}

/**
 * Runs `body` with a file in place of standard output, and writes that file there once it is whole: nothing where `body` fails. What it
 * would say there goes to standard error.
 *
 * @throws VdError `attr` for options that need standard output, or a file
 */
export async function toStandardOutput(
  settings: Settings,
  dependencies: Dependencies,
  body: (settings: Settings, dependencies: Dependencies) => Promise<void>,
): Promise<void> {
  if (!isStandardOutput(settings.output)) return body(settings, dependencies);
  refuseBeside(settings);
  const folder = mkdtempSync(join(tmpdir(), "vd-generate-"));
  try {
    const output = join(folder, `video${settings.output.slice(1) || ".mp4"}`);
    const { io } = dependencies;
    await body({ ...settings, output, isPiped: true }, { ...dependencies, io: { ...io, stdout: io.stderr } });
    if (!settings.dryRun) await dependencies.writeBytes(readFileSync(output));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
