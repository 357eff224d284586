/** Pictures and video files: loading, fitting, resizing, reading videos, 8-bit frames; MP4, WebM, GIF, WebP and PNG. */
export type { FfmpegFormat } from "./ffmpeg/encoding-arguments";
export { encodeWithFfmpeg, requireFfmpeg } from "./ffmpeg/program";
export {
  type FrameStrides,
  type FramesShape,
  framesToUint8,
  framesToUnit,
} from "./frames/frame-levels";
export { type CubicTaps, cubicTaps } from "./pictures/bicubic";
export {
  FITS,
  type FitOptions,
  FOCUS_PATTERN,
  type FocusPoint,
  fitFloats,
  fitPicture,
  fitPlacement,
  type PictureFit,
  parseFocus,
  type Rectangle,
} from "./pictures/fit";
export { gaussianKernel } from "./pictures/gaussian-blur";
export { resizeLanczos } from "./pictures/lanczos";
export { loadImage, MAX_PICTURE_PIXELS, type PictureUse } from "./pictures/load-image";
export type { PictureSource, SharpLike } from "./pictures/picture-source";
export { type ResampleWork, resample } from "./pictures/resample";
export { checkPixels, checkRgbImage, type FloatImage, type RgbImage } from "./pictures/rgb-image";
export { blurredRuns, type SampleRuns } from "./pictures/sample-runs";
export { loadSharp } from "./pictures/sharp";
export { SIGNED_LEVELS } from "./pictures/signed-levels";
export type { PictureWork } from "./pictures/work";
export { type AnimationFormat, encodeGif, encodePng, encodeWebp, type HeldFrame, heldFrames } from "./video/animation";
export { encodeBuiltin, requireBuiltin } from "./video/builtin";
export { readComment } from "./video/comment";
export { ENCODERS, type EncoderChoice } from "./video/encoders";
export { requireStorable } from "./video/max-side";
export { readAnimation } from "./video/read-animation";
export { type ReadVideoOptions, readVideo } from "./video/read-video";
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
  encodeVideo,
  type WriteOptions,
  type WrittenVideo,
  writeVideo,
} from "./video/write-video";
export { BT601, BT709, type LumaWeights, rgbToI420 } from "./video/yuv";
