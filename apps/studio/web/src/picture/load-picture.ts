import { getContent, shownPicture } from "../api/client";
import type { Video } from "../api/types";
import type { Picture } from "../state/draft";

/** Pictures that a browser can show and the studio can read. */
export const PICTURE_TYPES = "image/png,image/jpeg,image/webp,image/avif,image/gif,image/bmp,image/tiff,image/svg+xml";

async function sizeOf(url: string): Promise<{ width: number; height: number }> {
  const image = new Image();
  image.src = url;
  await image.decode();
  return { width: image.naturalWidth, height: image.naturalHeight };
}

async function shown(file: Blob): Promise<{ url: string; size: { width: number; height: number } } | undefined> {
  const url = URL.createObjectURL(file);
  try {
    return { url, size: await sizeOf(url) };
  } catch {
    URL.revokeObjectURL(url);
    return undefined;
  }
}

/** Takes a file as the picture; the server shows what this browser cannot. @throws Error, ApiError with a sentence */
export async function pictureOfFile(file: Blob, name: string): Promise<Picture> {
  const picture = (await shown(file)) ?? (await shown(await shownPicture(file)));
  if (picture === undefined) throw new Error(`${name} cannot be shown. Choose a PNG, JPEG, WebP or AVIF file.`);
  return { ...picture, name, image: file };
}

/** The picture that a video was made from. */
export async function pictureOfVideo(video: Video): Promise<Picture> {
  return pictureOfFile(await getContent(video.id, "picture"), "picture of an earlier run");
}

/** The last frame of a video, for a video that goes on from it. */
export async function lastFrameOf(video: Video): Promise<Picture> {
  const shown = await pictureOfFile(await getContent(video.id, "last-frame"), "last frame of an earlier run");
  return { ...shown, image: { video: video.id } };
}

/** The first picture in what was dropped or pasted: a file, or an address as a text. */
export function fromTransfer(data: DataTransfer | null): File | string | undefined {
  const file = [...(data?.files ?? [])].find(({ type }) => type.startsWith("image/")) ?? data?.files[0];
  if (file) return file;
  const text = data?.getData("text/uri-list") || data?.getData("text/plain") || "";
  return /^https?:\/\/\S+$/.test(text.trim()) ? text.trim() : undefined;
}
