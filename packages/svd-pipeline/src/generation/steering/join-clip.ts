import { COUNT, FUNCTION, listOf, OBJECT, requireArgument, requireFields, VdError } from "@vd/kernels-native";
import type { RgbImage, VideoFrames } from "@vd/media";

/** Frames over which the difference between a clip's last frame and the generated one in its place fades away. */
const FADE_FRAMES = 4;

/**
 * Writes a frame that goes on from two views of one: with what `own` differs from `seen`, less the further the frame is from it. frame,
 * own, seen: [H,W,3]. place: how many frames behind it, from 1. into: where the frame goes, which may be `frame` itself.
 */
export function fadeFrame(
  { frame, own, seen, place }: { frame: Uint8Array; own: Uint8Array; seen: Uint8Array; place: number },
  into: Uint8Array,
): void {
  const share = Math.max(0, 1 - place / FADE_FRAMES);
  for (let k = 0; k < frame.length; k++)
    into[k] = Math.min(Math.max(Math.round(frame[k]! + share * (own[k]! - seen[k]!)), 0), 255);
}

/**
 * Returns a clip and the video that goes on from it as one: the clip's own frames, then those of the video behind its first, which is the
 * clip's last frame as the model sees it. The difference between these two, which is the autoencoder's, fades over the next frames
 * instead of ending at the seam. clip: frames of the video's size, the last one being the picture that the video was made from.
 *
 * @throws VdError `shape` for a clip without frames, or with some of another size
 * @example
 * ```ts
 * const past = clip.slice(-4);
 * const video = await pipeline.generate({ image: past.at(-1)!, pastFrames: past.slice(0, -1), numFrames: 14 });
 * const whole = joinClip(clip, video);
 * ```
 */
export function joinClip(clip: readonly RgbImage[], video: VideoFrames): VideoFrames {
  requireArgument("joinClip clip", clip, listOf(OBJECT));
  requireFields("joinClip video", video, { numFrames: COUNT, width: COUNT, height: COUNT, frame: FUNCTION });
  const { width, height, fps } = video;
  const length = width * height * 3;
  const other = clip.find((frame) => frame.width !== width || frame.height !== height || frame.data.length !== length);
  if (clip.length === 0 || other) throw sizeError(other, width, height);
  const numFrames = clip.length + video.numFrames - 1;
  const data = new Uint8Array(numFrames * length);
  clip.forEach((frame, i) => void data.set(frame.data, i * length));
  const [seen, own] = [video.frame(0), clip.at(-1)!.data];
  for (let i = 1; i < video.numFrames; i++) {
    const at = (clip.length - 1 + i) * length;
    fadeFrame({ frame: video.frame(i), own, seen, place: i }, data.subarray(at, at + length));
  }
  return { width, height, fps, numFrames, data, frame: (i) => data.subarray(i * length, (i + 1) * length) };
}

function sizeError(frame: RgbImage | undefined, width: number, height: number): VdError {
  const got = frame ? `one of ${frame.width}x${frame.height} with ${frame.data.length} numbers` : "none";
  const expected = `frames of ${width}x${height}, as the video's`;
  return new VdError({
    code: "shape",
    where: "clip",
    expected,
    got,
    hint: "Resize them by resizeLanczos of @vd/media.",
  });
}
