import type { VideoRecord } from "./record";

/** A file of a video. */
export interface VariantFile {
  /** In the video's folder. */
  name: string;
  mediaType: string;
}

/** Files of a finished video by what `content` calls them. */
export const VARIANT_FILES = {
  video: { name: "video.mp4", mediaType: "video/mp4" },
  webp: { name: "video.webp", mediaType: "image/webp" },
  gif: { name: "video.gif", mediaType: "image/gif" },
  png: { name: "frames.zip", mediaType: "application/zip" },
  spritesheet: { name: "spritesheet.png", mediaType: "image/png" },
  thumbnail: { name: "thumbnail.webp", mediaType: "image/webp" },
  "last-frame": { name: "last-frame.png", mediaType: "image/png" },
} as const satisfies Record<string, VariantFile>;

/** What `content` has: the files of a finished video, and the picture that was animated. */
export const VARIANTS = [...Object.keys(VARIANT_FILES), "picture"] as readonly Variant[];

/** One of {@link VARIANTS}. */
export type Variant = keyof typeof VARIANT_FILES | "picture";

/** The name of a video's picture among its files; its type stands in the record. */
export const PICTURE_FILE = "picture";

/** Reports of where the time went, by their format. */
export const PROFILE_FILES = {
  html: { name: "profile.html", mediaType: "text/html; charset=utf-8" },
  json: { name: "profile.json", mediaType: "application/json" },
  trace: { name: "profile.trace", mediaType: "application/json" },
  txt: { name: "profile.txt", mediaType: "text/plain; charset=utf-8" },
} as const satisfies Record<string, VariantFile>;

/** Returns the file of a variant; undefined where the video has none, or none yet. */
export function variantFile(video: VideoRecord, variant: Variant): VariantFile | undefined {
  if (variant === "picture") return { name: PICTURE_FILE, mediaType: video.picture.mediaType };
  const file = VARIANT_FILES[variant];
  return video.result?.files.includes(file.name) ? file : undefined;
}

/** Returns the variants that a video has now. */
export const variantsOf = (video: VideoRecord): Variant[] =>
  VARIANTS.filter((variant) => variantFile(video, variant) !== undefined);
