import { extname } from "node:path";
import {
  fitPicture,
  parseFocus,
  type RgbImage,
  readAnimation,
  readVideo,
  resizeLanczos,
  type VideoFrames,
} from "@vd/media";
import { GENERATE_TABLE, USUAL_FPS, valueError } from "@vd/svd-pipeline/options";
import { statIfThere } from "@vd/tensor";
import type { RunOptions } from "./model/defaults";
import type { Settings } from "./settings";

const ANIMATIONS = [".gif", ".webp"];

/**
 * Reads the frames of the video to go on from, in the rate of the new ones; those of a GIF or WebP as they are.
 *
 * @throws VdError `io` when it cannot be read or has no frames, `attr` beside a picture or a loop
 */
export async function readClip(
  path: string,
  { image, generate }: Settings,
  { ffmpeg, signal }: { ffmpeg: string; signal: AbortSignal },
): Promise<RgbImage[]> {
  if (image !== undefined)
    throw valueError("--extend", "no IMAGE beside it", path, "The video's last frame is the picture");
  const fps = generate.fps ?? USUAL_FPS;
  const isAnimation = ANIMATIONS.includes(extname(path).toLowerCase()) && (await statIfThere(path)) !== undefined;
  const frames = isAnimation
    ? readAnimation(path, signal)
    : readVideo(path, { fps, ffmpeg, signal, where: "--extend" });
  const clip: RgbImage[] = [];
  for await (const frame of frames) clip.push(frame);
  return clip;
}

/** Returns the options that make a generation go on from a clip. The last frame is its picture. */
export function continuing(options: RunOptions, clip: readonly RgbImage[] | undefined): RunOptions {
  if (!clip) return options;
  const overlap = options.overlap ?? GENERATE_TABLE.overlap.default.value;
  return { ...options, pastFrames: clip.slice(-overlap, -1) };
}

/** Returns the clip, in the size of the video that goes on from it, and that video as one. */
export async function joined(
  clip: readonly RgbImage[] | undefined,
  video: VideoFrames,
  options: RunOptions,
): Promise<VideoFrames> {
  if (!clip) return video;
  const { joinClip } = await import("@vd/svd-pipeline");
  const { width, height } = video;
  const fit = options.fit ?? GENERATE_TABLE.fit.default.value;
  const focus = parseFocus(options.focus ?? GENERATE_TABLE.focus.default.value);
  const fitted: RgbImage[] = [];
  for (const frame of clip) {
    const shaped = await fitPicture(frame, width, height, { fit, focus });
    fitted.push(await resizeLanczos(shaped, width, height));
  }
  return joinClip(fitted, video);
}
