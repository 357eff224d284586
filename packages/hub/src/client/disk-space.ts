import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { VdError } from "@vd/kernels-native";

/** Free bytes on the disk that holds a folder, for this user; undefined where the system does not say. */
export async function freeDiskBytes(path: string): Promise<number | undefined> {
  for (let folder = path; ; folder = dirname(folder)) {
    try {
      const { bavail, blocks, bsize } = await statfs(folder);
      // File systems without a notion of size report no blocks at all.
      return blocks > 0 ? bavail * bsize : undefined;
    } catch (error) {
      const absent = (error as NodeJS.ErrnoException).code === "ENOENT";
      if (!absent || dirname(folder) === folder) return undefined;
    }
  }
}

/**
 * Checks that a download fits on the disk.
 *
 * @throws VdError `io` that says how much is needed and free if it does not
 */
export async function checkDiskSpace(
  path: string,
  neededBytes: number,
  where: string,
  freeBytes: (path: string) => Promise<number | undefined> = freeDiskBytes,
): Promise<void> {
  const free = await freeBytes(path);
  if (free === undefined || free >= neededBytes) return;
  throw diskFullError(where, path, neededBytes, free);
}

/** The error for a disk that is, or would become, full. */
export function diskFullError(
  where: string,
  path: string,
  neededBytes: number,
  freeBytes: number | undefined,
  cause?: unknown,
): VdError {
  return new VdError({
    code: "io",
    where,
    expected: `${formatBytes(neededBytes)} free for the download in ${path}`,
    got: freeBytes === undefined ? "a full disk" : `${formatBytes(freeBytes)} free`,
    hint: "Free some space, or set HF_HUB_CACHE to a folder on a larger disk; what was received is kept.",
    cause,
  });
}

/** Bytes as people read them, e.g. `4.52 GB`, in steps of 1000 as on disk labels. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return step === 0 ? `${bytes} B` : `${(bytes / 1000 ** step).toFixed(2)} ${units[step]}`;
}
