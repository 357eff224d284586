import type { PlannedDownload } from "@vd/hub";
import { cancelledError, isVdError, type VdError } from "@vd/kernels-native";
import type { Io } from "../io";
import { writeEvent } from "../report/json";
import type { Reporter } from "../report/reporter";
import { formatBytes } from "../report/units";

/** How a download is announced, and whether anybody is asked. */
export interface ConsentOptions {
  io: Io;
  reporter: Pick<Reporter, "note" | "pause">;
  /** Download without asking. */
  yes: boolean;
  json: boolean;
  /** Ends the wait for an answer. */
  signal: AbortSignal;
}

/**
 * Makes what shows a model's licence and size before it is downloaded, and asks the person at the terminal. Where nobody
 * can answer, as in scripts, it shows them and goes on.
 *
 * @throws VdError `cancelled`, from what is made, for a no
 */
export function consentTo({
  io,
  reporter,
  yes,
  json,
  signal,
}: ConsentOptions): (download: PlannedDownload) => Promise<void> {
  return async (download) => {
    if (json) {
      writeEvent(io, { event: "download", ...download });
      return;
    }
    reporter.note(announcement(download));
    if (yes || !io.confirm) return;
    reporter.pause();
    if (await io.confirm("Download it?", signal)) return;
    throw declinedError(download.repo);
  };
}

/** True for the error of {@link declinedError}. */
export const isDeclined = (error: unknown): boolean =>
  isVdError(error) && error.code === "cancelled" && error.got === DECLINED;

const DECLINED = "a no";

/** The error of somebody who says no when asked. where: the model. */
export function declinedError(repo: string): VdError {
  return cancelledError(repo, { got: DECLINED });
}

/** `org/name: a download of 8.40 GiB`, and the licence. */
function announcement({ repo, page, licence, totalBytes, missingBytes }: PlannedDownload): string {
  const rest = missingBytes < totalBytes ? `the missing ${formatBytes(missingBytes)} of ` : "";
  const terms = licence ? `licence ${licence.name}: ${licence.url}` : `its card names no licence, see ${page}`;
  return `${repo}: a download of ${rest}${formatBytes(totalBytes)}\n  ${terms}`;
}
