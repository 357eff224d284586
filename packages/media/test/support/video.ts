import { gradientFrames } from "../../../../tooling/testing/gradient-frames";
import type { VideoFrames } from "../../src/video/video-frames";
import { type LumaWeights, rgbToI420 } from "../../src/video/yuv";

/** @returns a video of a disc that moves over a gradient. */
export function gradientVideo(width: number, height: number, numFrames: number, fps = 7): VideoFrames {
  const data = gradientFrames(width, height, numFrames);
  const frameBytes = width * height * 3;
  return {
    ...{ width, height, numFrames, fps, data },
    frame: (i) => data.subarray(i * frameBytes, (i + 1) * frameBytes),
  };
}

/** @returns RGB frames [F,H,W,3] as I420 planes: what 4:2:0 formats can keep of them. */
export function planesOf(
  frames: Uint8Array,
  { width, height, numFrames }: VideoFrames,
  weights?: LumaWeights,
): Uint8Array {
  const frameBytes = width * height * 3;
  const frame = (i: number) => frames.subarray(i * frameBytes, (i + 1) * frameBytes);
  return Buffer.concat(Array.from({ length: numFrames }, (_, i) => rgbToI420(frame(i), width, height, weights)));
}

/** Peak signal-to-noise ratio of bytes in dB; Infinity when they are equal. */
export function psnr(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) throw new RangeError(`${a.length} bytes against ${b.length}`);
  const squared = a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0);
  return 10 * Math.log10((255 ** 2 * a.length) / squared);
}
