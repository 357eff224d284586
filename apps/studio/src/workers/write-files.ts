import { join } from "node:path";
import { isVdError } from "@vd/kernels-native";
import { encodePng, loadSharp } from "@vd/media";
import type { Profiler } from "@vd/profiler";
import type { GeneratedVideo } from "@vd/svd-pipeline";
import { writeSynced } from "@vd/tensor";
import { zipSync } from "fflate";
import type { VideoResult } from "../videos/record";
import { PROFILE_FILES, VARIANT_FILES } from "../videos/variants";

/** How files are written. */
export interface WriteContext {
  signal: AbortSignal;
  profiler: Profiler | undefined;
}

const THUMBNAIL_SIDE = 384;
const THUMBNAIL_QUALITY = 80;

/** Writes all files of a video into a folder. Returns their names and how the spritesheet is laid out. */
export async function writeFiles(
  folder: string,
  video: GeneratedVideo,
  { signal, profiler }: WriteContext,
): Promise<Pick<VideoResult, "files" | "spritesheet">> {
  const files: string[] = [];
  const put = async (name: string, bytes: Uint8Array | string) => {
    signal.throwIfAborted();
    await writeSynced(join(folder, name), bytes);
    files.push(name);
  };
  const mp4 = await mp4Of(video, signal);
  if (mp4) await put(VARIANT_FILES.video.name, mp4);
  await put(VARIANT_FILES.webp.name, await video.toBuffer("webp", { signal }));
  await put(VARIANT_FILES.gif.name, await video.toBuffer("gif", { signal }));
  const frames = await pngFrames(video, signal);
  await put(VARIANT_FILES.png.name, zipOf(frames));
  await put(VARIANT_FILES["last-frame"].name, frames.at(-1)!);
  await put(VARIANT_FILES.thumbnail.name, await thumbnailOf(video));
  const { spritesheet, bytes } = await spritesheetOf(video);
  await put(VARIANT_FILES.spritesheet.name, bytes);
  for (const [format, { name }] of Object.entries(profiler ? PROFILE_FILES : {}))
    await put(name, await profiler!.render(format as keyof typeof PROFILE_FILES));
  return { files, spritesheet };
}

/** The video as MP4; undefined where its encoder is not installed: the other files are there all the same. */
async function mp4Of(video: GeneratedVideo, signal: AbortSignal): Promise<Uint8Array | undefined> {
  try {
    return await video.toBuffer("mp4", { signal });
  } catch (error) {
    if (isVdError(error) && error.code === "unsupported") return undefined;
    throw error;
  }
}

async function pngFrames(video: GeneratedVideo, signal: AbortSignal): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = [];
  for (let i = 0; i < video.numFrames; i++) {
    signal.throwIfAborted();
    frames.push(await encodePng(video, video.frame(i)));
  }
  return frames;
}

/** PNG files are as small as they get: the archive only holds them together. */
function zipOf(frames: readonly Uint8Array[]): Uint8Array {
  const named = frames.map((bytes, i) => [`frame-${String(i).padStart(4, "0")}.png`, bytes] as const);
  return zipSync(Object.fromEntries(named), { level: 0 });
}

async function thumbnailOf(video: GeneratedVideo): Promise<Uint8Array> {
  const sharp = await loadSharp();
  const { width, height } = video;
  return sharp(video.frame(0), { raw: { width, height, channels: 3 } })
    .resize({ width: THUMBNAIL_SIDE, height: THUMBNAIL_SIDE, fit: "inside", withoutEnlargement: true })
    .webp({ quality: THUMBNAIL_QUALITY })
    .toBuffer();
}

/** All frames in one picture, row by row, in about as many columns as rows. */
async function spritesheetOf({ width, height, numFrames, data }: GeneratedVideo) {
  const columns = Math.ceil(Math.sqrt(numFrames));
  const rows = Math.ceil(numFrames / columns);
  const sheet = { width: columns * width, height: rows * height };
  const pixels = new Uint8Array(sheet.width * sheet.height * 3);
  const rowBytes = width * 3;
  for (let line = 0; line < numFrames * height; line++) {
    const frame = Math.floor(line / height);
    const y = Math.floor(frame / columns) * height + (line % height);
    const x = (frame % columns) * width;
    pixels.set(data.subarray(line * rowBytes, (line + 1) * rowBytes), (y * sheet.width + x) * 3);
  }
  return { spritesheet: { columns, rows, ...sheet }, bytes: await encodePng(sheet, pixels) };
}
