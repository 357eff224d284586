import { basename, dirname, extname, join } from "node:path";
import {
  FUNCTION,
  oneOfThese,
  PATH,
  requireArgument,
  requireFields,
  TEXT,
  VdError,
  type WantedFields,
} from "@vd/kernels-native";
import { meantName } from "@vd/tensor";

/** Formats that hold a video in one file. */
export type FileFormat = "mp4" | "webm" | "gif" | "webp";

/** Where a video goes: one file, or one PNG file per frame in a folder. */
export type OutputTarget = { kind: "file"; format: FileFormat; path: string } | FramesTarget;

/** One PNG file per frame. */
export interface FramesTarget {
  kind: "frames";
  format: "png";
  /** As typed, for messages. */
  path: string;
  folder: string;
  /** True for `-o folder/`: the folder is made if it is not there. */
  ownsFolder: boolean;
  /** File name, without folder, of a frame from 0 up. */
  nameOf(frameIndex: number): string;
}

const FORMATS: Record<string, FileFormat> = { ".mp4": "mp4", ".webm": "webm", ".gif": "gif", ".webp": "webp" };

/** What a {@link FileFormat} must be. */
export const FILE_FORMAT = oneOfThese(Object.values(FORMATS));

const FILE_TARGET: WantedFields = { kind: oneOfThese(["file", "frames"]), path: PATH };
const FRAMES_TARGET: WantedFields = { folder: PATH, nameOf: FUNCTION };

/** Refuses what is no target. @throws VdError `attr` */
export function requireTarget(where: string, target: OutputTarget): void {
  requireFields(where, target, FILE_TARGET);
  if (target.kind === "frames") requireFields(where, target, FRAMES_TARGET);
  else requireArgument(`${where}] [format`, target.format, FILE_FORMAT);
}

const PATTERN = /%(?:0(\d))?d/g;

/**
 * Finds the format in a file name: .mp4, .webm, .gif, .webp, `frame-%03d.png`, or `folder/` for PNG frames. where: who
 * named the file, for the error.
 * @throws VdError `attr` for any other name.
 */
export function outputTarget(path: string, where = "video"): OutputTarget {
  requireArgument(where, path, TEXT);
  if (/[/\\]$/.test(path)) return framesTarget(path, path, "frame-%04d.png", true);
  const extension = extname(path).toLowerCase();
  if (extension === ".png") {
    const name = basename(path);
    const patterns = [...name.matchAll(PATTERN)];
    if (patterns.length !== 1 || name.replace(PATTERN, "").includes("%")) {
      const example = join(dirname(path), `${name.replaceAll("%", "").slice(0, -extension.length)}-%03d.png`);
      const hint = `Write ${example}, or end the name with / for a folder of frames`;
      throw nameError(where, "a .png name with one %d or %03d for the frame number", `"${path}"`, hint);
    }
    return framesTarget(path, dirname(path), name, false);
  }
  const format = FORMATS[extension];
  if (format === undefined) throw unknownExtension(path, extension, where);
  return { kind: "file", format, path };
}

function framesTarget(path: string, folder: string, pattern: string, ownsFolder: boolean): FramesTarget {
  const nameOf = (frameIndex: number) =>
    pattern.replace(PATTERN, (_, digits: string | undefined) => String(frameIndex).padStart(Number(digits ?? 1), "0"));
  return { kind: "frames", format: "png", path, folder, ownsFolder, nameOf };
}

function unknownExtension(path: string, extension: string, where: string): VdError {
  const known = [...Object.keys(FORMATS), ".png"];
  const meant = extension === "" ? undefined : meantName(extension, known);
  const hint = meant
    ? `Did you mean ${meant}?`
    : `Name a file such as ${basename(path, extension)}.mp4, or end the name with / for a folder of PNG frames`;
  const got = extension === "" ? `"${path}", which has no extension` : `"${extension}"`;
  return nameError(where, `a file name that ends in ${known.slice(0, -1).join(", ")} or .png`, got, hint);
}

function nameError(where: string, expected: string, got: string, hint: string): VdError {
  return new VdError({ code: "attr", where, expected, got, hint });
}

/** The path of previews that have no name of their own: beside the video, `out.preview.webp` for `out.mp4`.
 *  @throws VdError `attr` for what is no target */
export function defaultPreviewPath(target: OutputTarget): string {
  requireTarget("defaultPreviewPath", target);
  const trimmed = target.path.replace(/[/\\]+$/, "");
  const stem = basename(trimmed, target.kind === "frames" && target.ownsFolder ? "" : extname(trimmed));
  const plain = stem.replace(PATTERN, "").replace(/[-_.]+$/, "");
  return join(dirname(trimmed), plain === "" ? "preview.webp" : `${plain}.preview.webp`);
}
