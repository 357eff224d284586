import { readdir, stat } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { valueError } from "@vd/svd-pipeline/options";
import { fileError } from "@vd/tensor";

const PICTURES = /\.(png|jpe?g|webp|avif|gif|tiff?|svg|bmp|ico|ppm)$/i;

/** Time between two looks, and thus how long a file must stay as it is to be taken for complete. */
const LOOK_MS = 400;

/** Size and time of the pictures in a folder, by path. */
async function look(folder: string): Promise<Map<string, string>> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw fileError(folder, "a folder that can be read", error, "--watch");
  });
  const found = new Map<string, string>();
  for (const name of names.filter((each) => PICTURES.test(each) && !each.startsWith(".")).sort()) {
    const path = join(folder, name);
    // A file may be gone again.
    const stats = await stat(path).catch(() => undefined);
    if (stats?.isFile()) found.set(path, `${stats.size} ${stats.mtimeMs}`);
  }
  return found;
}

/**
 * Makes sure that a watched folder does not fill with what is made of it.
 *
 * @throws VdError `attr` for an output that would be taken for a new picture
 */
export function checkWatched(folder: string, output: string): void {
  if (!PICTURES.test(extname(output)) || resolve(dirname(output)) !== resolve(folder)) return;
  const hint = "Name another folder, or write .mp4 or .webm";
  throw valueError(
    "--output",
    "a place that is not watched, since its file would be a new picture there",
    output,
    hint,
  );
}

/**
 * Yields the pictures that come into a folder or change there, once each is complete: once it has stayed as it is for a moment. Pictures that
 * are there already are left alone. Ends by the signal.
 *
 * @throws VdError `io` for a folder that cannot be read; the signal's reason
 */
export async function* watchedPictures(folder: string, signal: AbortSignal): AsyncGenerator<string> {
  const done = await look(folder);
  let before = done;
  for (;;) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    const now = await look(folder);
    for (const [path, state] of now) {
      if (done.get(path) === state || before.get(path) !== state) continue;
      done.set(path, state);
      yield path;
    }
    before = now;
  }
}
