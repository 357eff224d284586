import { optional, PATH, requireArgument, SIGNAL, throwIfAborted } from "@vd/kernels-native";
import { fileError } from "@vd/tensor";
import type { RgbImage } from "../pictures/rgb-image";
import { loadSharp } from "../pictures/sharp";

const CANCELS = optional(SIGNAL);

/** Most bytes of frames that are decoded at a time. */
const MOST_RUN_BYTES = 32 * 2 ** 20;

/** Decodes `count` frames from `first` on, one below the other. */
async function frameColumn(path: string, first: number, count: number): Promise<RgbImage> {
  const sharp = await loadSharp();
  const column = sharp(path, { page: first, pages: count, failOn: "error" });
  const { data, info } = await column.removeAlpha().toColourspace("srgb").raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
}

/**
 * Reads the frames of an animated GIF or WebP as they are asked for; alpha is dropped. A still picture has one.
 *
 * A frame is made of the ones before it, so the image library begins at the file's start for every look at it. Hence frames are
 * decoded in runs, each twice as long as the one before, of 32 MiB at most: a long animation takes little more than one pass,
 * and its first frame comes at once.
 *
 * @throws VdError `attr` for what is no path, `io` for a file that cannot be read, `cancelled` once the signal has fired, `unsupported` where the image
 *   library cannot be loaded
 */
export async function* readAnimation(path: string, signal?: AbortSignal): AsyncGenerator<RgbImage> {
  requireArgument("readAnimation", path, PATH);
  requireArgument("readAnimation signal", signal, CANCELS);
  const sharp = await loadSharp();
  const failed = (cause: unknown): never => {
    throw fileError(path, "an animated GIF or WebP", cause);
  };
  const { pages = 1 } = await sharp(path).metadata().catch(failed);
  let [next, count, most] = [0, 1, Number.POSITIVE_INFINITY];
  while (next < pages) {
    throwIfAborted(signal, path, { work: "the reading" });
    const run = Math.min(count, pages - next);
    const column = await frameColumn(path, next, run).catch((cause) => (count === 1 ? failed(cause) : undefined));
    if (!column) {
      // One of the run's frames is damaged: those before it come one by one, and then the error.
      count = most = 1;
      continue;
    }
    const frameBytes = column.data.length / run;
    for (let i = 0; i < run; i++) {
      // A copy: whoever keeps one frame does not keep the whole run.
      const data = Uint8Array.from(column.data.subarray(i * frameBytes, (i + 1) * frameBytes));
      yield { width: column.width, height: column.height / run, data };
      throwIfAborted(signal, path, { work: "the reading" });
    }
    most = Math.min(most, Math.max(Math.floor(MOST_RUN_BYTES / frameBytes), 1));
    next += run;
    count = Math.min(2 * count, most);
  }
}
