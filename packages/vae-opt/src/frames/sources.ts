import { readdir, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { shown, throwIfAborted, VdError } from "@vd/kernels-native";
import { loadImage, type PictureUse, type RgbImage, readAnimation, readVideo } from "@vd/media";
import { fileError } from "@vd/tensor";

/** Frames that can be decoded in any order, several at a time. */
export interface PictureList {
  kind: "pictures";
  paths: readonly string[];
  load(path: string): Promise<RgbImage>;
}

/** Frames that come one after the other. */
export interface FrameStream {
  kind: "stream";
  frames: AsyncIterable<RgbImage>;
  /** True for frames that a caller gives: unchecked, perhaps all in one array, and perhaps none for a long time. */
  isForeign: boolean;
}

/** Endings of pictures that folders of frames hold. */
const PICTURES: readonly string[] = [".png", ".jpg", ".jpeg", ".webp"];
/** Endings of files with several frames that the image library reads. */
const ANIMATIONS: readonly string[] = [".gif", ".webp"];

const endingOf = (path: string) => extname(path).toLowerCase();
/** 2 comes before 10. */
const { compare } = new Intl.Collator("en", { numeric: true });

async function picturesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => PICTURES.includes(endingOf(name)) && !name.startsWith("."));
  if (names.length > 0) return names.sort(compare).map((name) => join(folder, name));
  throw new VdError({ code: "io", where: folder, expected: `pictures (${PICTURES.join(", ")})`, got: "none" });
}

function pictureList(paths: readonly string[], use: PictureUse | undefined): PictureList {
  return { kind: "pictures", paths, load: (path) => loadImage(path, use) };
}

/** What frames come from: a folder of pictures, their paths in order, an animation, a video file, or frames themselves. */
export type FrameSource = string | readonly string[] | AsyncIterable<RgbImage>;

const isFrames = (source: FrameSource): source is AsyncIterable<RgbImage> =>
  typeof source === "object" && source !== null && Symbol.asyncIterator in source;

const isPath = (path: unknown): path is string => typeof path === "string" && path !== "";

const arePaths = (source: FrameSource): source is readonly string[] =>
  Array.isArray(source) && source.length > 0 && source.every(isPath);

/** Refuses what can be no source. @throws VdError `attr` */
export function checkSource(source: FrameSource): void {
  if (isFrames(source) || arePaths(source) || isPath(source)) return;
  const expected = "a folder of pictures, paths of pictures, an animation or a video file";
  const got = source === "" ? "an empty text" : Array.isArray(source) ? "a list of something else" : shown(source);
  throw new VdError({ code: "attr", where: "createFrameLoader] [source", expected, got });
}

/**
 * Finds out what a source is, of those that {@link checkSource} lets pass.
 *
 * @throws VdError `io` for a path that cannot be read or a folder without pictures, `cancelled`
 */
export async function openSource(
  source: FrameSource,
  { use, signal }: { use?: PictureUse | undefined; signal?: AbortSignal | undefined },
): Promise<PictureList | FrameStream> {
  if (isFrames(source)) return { kind: "stream", frames: source, isForeign: true };
  if (typeof source !== "string") return pictureList(source, use);
  throwIfAborted(signal, source, { work: "the reading" });
  try {
    if ((await stat(source)).isDirectory()) return pictureList(await picturesIn(source), use);
  } catch (cause) {
    throw fileError(source, "a folder, an animation or a video file", cause);
  }
  const ending = endingOf(source);
  if (ANIMATIONS.includes(ending)) return { kind: "stream", frames: readAnimation(source, signal), isForeign: false };
  if (PICTURES.includes(ending)) return pictureList([source], use);
  return { kind: "stream", frames: readVideo(source, { signal }), isForeign: false };
}
