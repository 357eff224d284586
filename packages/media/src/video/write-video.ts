import { mkdir, readdir, rename, rmdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  FLAG,
  OBJECT,
  oneOfThese,
  optional,
  PATH,
  requireArgument,
  requireFields,
  TEXT,
  type WantedFields,
} from "@vd/kernels-native";
import {
  checkPlace,
  discard,
  fileError,
  type PlaceOptions,
  placeFile,
  requireFolder,
  requireFree,
  settled,
  statIfThere,
  systemCode,
  temporaryName,
  writeSynced,
} from "@vd/tensor";
import { encodeWithFfmpeg, requireFfmpeg } from "../ffmpeg/program";
import { encodeGif, encodePng, encodeWebp, heldFrames } from "./animation";
import { encodeBuiltin, requireBuiltin } from "./builtin";
import { ENCODERS, type EncoderChoice } from "./encoders";
import { FILE_FORMAT, type FileFormat, type FramesTarget, type OutputTarget, requireTarget } from "./target";
import { breathe, checkedVideo, ENCODE_OPTIONS, type EncodeOptions, type VideoFrames } from "./video-frames";

/** How to write a video. */
export interface WriteOptions extends EncodeOptions {
  /** Whether files of the same names may be replaced; default true. */
  overwrite?: boolean | undefined;
  /** Default `auto`. */
  encoder?: EncoderChoice | undefined;
  /** Name or path of ffmpeg; default `ffmpeg`. */
  ffmpeg?: string | undefined;
  /** What the caller's users call the video's path and the encoder, for errors; default `video` and `encoder`. */
  names?: { video: string; encoder: string } | undefined;
  /** What to do about files that must be kept, for errors. */
  takenHint?: string | undefined;
}

const OPTIONS: WantedFields = {
  ...ENCODE_OPTIONS,
  overwrite: optional(FLAG),
  encoder: optional(oneOfThese(ENCODERS)),
  ffmpeg: optional(PATH),
  names: optional(OBJECT),
  takenHint: optional(TEXT),
};

/** What was written. */
export interface WrittenVideo {
  /** Sum over all files. */
  fileBytes: number;
  encoder: "builtin" | "ffmpeg" | "sharp";
  /** Something the user should know, as a sentence. */
  warning?: string | undefined;
}

const FFMPEG = "ffmpeg";
const NAMES = { video: "video", encoder: "encoder" };

/** How the files of a call are to be put in place. */
const placeOf = ({ names = NAMES, overwrite, takenHint, signal }: WriteOptions) => ({
  ...{ where: names.video, overwrite, takenHint, signal },
  folderHint: "Choose another file name, or end the name with / to write PNG frames into the folder.",
});

/**
 * Checks before any work that the video can be written: folder, permission, space, names in use, ffmpeg where needed.
 * @throws VdError `io` or `unsupported` with what to do, `attr` for what is no target and for options that are none.
 */
export async function checkOutput(target: OutputTarget, options: WriteOptions = {}): Promise<void> {
  requireTarget("checkOutput target", target);
  requireFields("checkOutput", options, OPTIONS);
  const place = placeOf(options);
  if (target.kind === "frames") return checkFrames(target, place);
  await checkPlace(target.path, place);
  const { format } = target;
  if (format !== "mp4" && format !== "webm") return;
  const { names = NAMES, ffmpeg = FFMPEG } = options;
  if (encoderOf(target, options) === "ffmpeg") await requireFfmpeg(ffmpeg, format, names.encoder);
  else requireBuiltin(format, names.encoder);
}

/**
 * Writes a video whole or not at all, in the format of the target.
 * @throws VdError `io`, `attr`, `shape` or `unsupported`; the signal's reason when it is cancelled. Nothing is left behind then.
 */
export async function writeVideo(
  target: OutputTarget,
  given: VideoFrames,
  options: WriteOptions = {},
): Promise<WrittenVideo> {
  requireTarget("writeVideo target", target);
  requireFields("writeVideo", options, OPTIONS);
  const video = checkedVideo(given, options);
  const encoder = encoderOf(target, options);
  if (target.kind === "frames") {
    const fileBytes = await writeFrames(target, video, options);
    return { fileBytes, encoder, warning: await warnOfOlderFrames(target, video.numFrames) };
  }
  const { format, path } = target;
  const fileBytes = await placeFile(path, placeOf(options), async (temporary) => {
    if (encoder !== "ffmpeg" || format === "gif" || format === "webp")
      return writeSynced(temporary, await encodeVideo(format, video, options));
    return encodeWithFfmpeg(options.ffmpeg ?? FFMPEG, format, resolve(temporary), video, options);
  });
  return { fileBytes, encoder, warning: warnOfDroppedFrames(format, video) };
}

/**
 * Returns a video as the bytes of a file: MP4 and WebM by the built-in encoder, GIF and WebP by sharp.
 *
 * @throws VdError `attr` for what is no video, `shape` for frames of another length and for odd sides of MP4 and WebM, `unsupported` where the encoder is not installed; the signal's reason
 *   when it is cancelled
 * @example
 * ```ts
 * import { encodeVideo } from "@vd/media";
 *
 * const frame = new Uint8Array(64 * 64 * 3);
 * const video = { width: 64, height: 64, numFrames: 2, fps: 7, data: new Uint8Array(2 * frame.length), frame: () => frame };
 * const bytes = await encodeVideo("webp", video);
 * console.log(bytes.length > 0); // true
 * ```
 */
export async function encodeVideo(
  format: FileFormat,
  given: VideoFrames,
  options: EncodeOptions = {},
): Promise<Uint8Array> {
  requireArgument("encodeVideo format", format, FILE_FORMAT);
  const video = checkedVideo(given, options);
  if (format === "gif") return encodeGif(video, options);
  if (format === "webp") return encodeWebp(video, options);
  return encodeBuiltin(format, video, options);
}

function encoderOf(target: OutputTarget, { encoder }: WriteOptions): WrittenVideo["encoder"] {
  if (target.format !== "mp4" && target.format !== "webm") return "sharp";
  // The built-in one gives the same file everywhere.
  return encoder === "ffmpeg" ? "ffmpeg" : "builtin";
}

/** Frames that show for too short a time for a format's players are left out; the others show longer instead. */
function warnOfDroppedFrames(format: FileFormat, video: VideoFrames): string | undefined {
  if (format !== "gif" && format !== "webp") return undefined;
  const kept = heldFrames(video, format).length;
  if (kept === video.numFrames) return undefined;
  const rate = `${video.fps} frames a second are more than players of .${format} files show`;
  return `${rate}: ${kept} of ${video.numFrames} frames were written, and the video lasts as long; .mp4 holds them all`;
}

async function checkFrames(target: FramesTarget, place: PlaceOptions): Promise<void> {
  const found = await statIfThere(target.folder).catch((error: unknown) => {
    throw fileError(target.folder, "a folder that can be read", error, place.where);
  });
  if (found === undefined && target.ownsFolder) return checkPlace(target.folder.replace(/[/\\]+$/, ""), place);
  await requireFolder(target.folder, place.where);
  await checkPlace(join(target.folder, target.nameOf(0)), place);
}

/** All frames go into a temporary folder beside their place, then move in one go (a new folder) or one by one. */
async function writeFrames(target: FramesTarget, video: VideoFrames, options: WriteOptions): Promise<number> {
  const isNew = target.ownsFolder && (await statIfThere(target.folder)) === undefined;
  const folder = target.folder.replace(/(?<=.)[/\\]+$/, "");
  const temporary = temporaryName(isNew ? folder : join(folder, "frames"));
  try {
    await mkdir(temporary);
    const fileBytes = await writeFrameFiles(temporary, target, video, options);
    if (isNew) await rename(temporary, folder);
    else await moveFiles(temporary, folder, options);
    settled(temporary);
    return fileBytes;
  } catch (error) {
    discard(temporary);
    const { where } = placeOf(options);
    throw systemCode(error) ? fileError(folder, "a folder that can be written to", error, where) : error;
  }
}

async function writeFrameFiles(
  folder: string,
  target: FramesTarget,
  video: VideoFrames,
  options: WriteOptions,
): Promise<number> {
  let fileBytes = 0;
  for (let i = 0; i < video.numFrames; i++) {
    const bytes = await encodePng(video, video.frame(i), options);
    await writeSynced(join(folder, target.nameOf(i)), bytes);
    fileBytes += bytes.length;
    options.onFrame?.(i + 1);
    await breathe(options);
  }
  return fileBytes;
}

async function moveFiles(from: string, to: string, options: WriteOptions): Promise<void> {
  const names = (await readdir(from)).sort();
  for (const name of names) await requireFree(join(to, name), placeOf(options));
  for (const name of names) await rename(join(from, name), join(to, name));
  await rmdir(from);
}

/** A longer, earlier video under the same names would now look like the end of this one. */
async function warnOfOlderFrames(target: FramesTarget, numFrames: number): Promise<string | undefined> {
  const next = join(target.folder, target.nameOf(numFrames));
  if ((await statIfThere(next)) === undefined) return undefined;
  return `${next} is an older frame, from a longer video; this one ends at ${target.nameOf(numFrames - 1)}`;
}
