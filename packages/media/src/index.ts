/** Pictures and video files: loading, resizing, 8-bit frames; MP4, WebM, GIF, WebP and PNG. */
export {
  type FrameStrides,
  type FramesShape,
  framesToUint8,
  framesToUnit,
} from "./frames/frame-levels";
export { type CubicTaps, cubicTaps, reindexed, usedPositions } from "./pictures/bicubic";
export { BlurredRows, gaussianKernel } from "./pictures/gaussian-blur";
export { resizeLanczos } from "./pictures/lanczos";
export { loadImage } from "./pictures/load-image";
export { decodePlainPng, encodePlainPng } from "./pictures/plain-png";
export { checkPixels, checkRgbImage, type FloatImage, type RgbImage } from "./pictures/rgb-image";
export { loadSharp } from "./pictures/sharp";
export { SIGNED_LEVELS } from "./pictures/signed-levels";
export { encodeGif, encodePng, encodeWebp, frameDelaysMs } from "./video/animation";
export { ENCODERS, type EncoderChoice } from "./video/encoders";
export { encodeWithFfmpeg, type FfmpegFormat, requireFfmpeg } from "./video/ffmpeg";
export { requireStorable } from "./video/max-side";
export { encodeBuiltinMp4 } from "./video/mp4-builtin";
export {
  defaultPreviewPath,
  type FileFormat,
  type FramesTarget,
  type OutputTarget,
  outputTarget,
} from "./video/target";
export type { EncodeOptions, VideoFrames } from "./video/video-frames";
export {
  checkOutput,
  type WriteOptions,
  type WrittenVideo,
  writeVideo,
} from "./video/write-video";
export { rgbToI420 } from "./video/yuv";
