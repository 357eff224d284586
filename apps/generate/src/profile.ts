import type { Profiler } from "@vd/profiler";
import { checkPlace, writeWholeFile } from "@vd/tensor";

const PLACE = { where: "--profile", overwrite: true } as const;

/**
 * Checks before any work that the profile can be written.
 * @throws VdError `attr` for an ending that names no format, `io` for a place that takes no file.
 */
export async function checkProfilePath(path: string): Promise<void> {
  const { reportFormat } = await import("@vd/profiler");
  reportFormat(path, PLACE.where);
  await checkPlace(path, PLACE);
}

/** Makes a profiler if a profile was asked for; its package is only loaded then. */
export async function startProfile(path: string | undefined): Promise<Profiler | undefined> {
  return path === undefined ? undefined : (await import("@vd/profiler")).createProfiler();
}

/**
 * Measures what the device can do at most and writes the profile of a finished run, whole or not at all.
 * @throws VdError `io` when it cannot be written, or what the device throws.
 */
export async function writeProfile(path: string, profiler: Profiler): Promise<void> {
  const { reportFormat } = await import("@vd/profiler");
  await profiler.measureCeilings();
  await writeWholeFile(path, await profiler.render(reportFormat(path, PLACE.where)), PLACE);
}
