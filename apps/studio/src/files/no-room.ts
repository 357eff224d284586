import type { WorkFailure } from "../workers/messages";

/** What the system and SQLite call it when nothing more can be written. */
const CODES = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL"]);

/** True for an error, or one that was caused by one, that says that there is no room on the disk. */
export function isNoRoom(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if (CODES.has(String((at as NodeJS.ErrnoException).code))) return true;
  return false;
}

/** What whoever asked for a video is told then. */
export const NO_ROOM: WorkFailure = {
  code: "no_room",
  message: "The server has no room left on its disk. Make the video again when there is.",
};
