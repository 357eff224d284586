import { requireArgument, VdError } from "@vd/kernels-native";
import { runInSlices } from "@vd/tensor";
import {
  encoderName,
  encodingArguments,
  FFMPEG_FORMAT,
  type FfmpegFormat,
  lumaWeights,
} from "../ffmpeg/encoding-arguments";
import { requireWasmFfmpeg, runWasmFfmpeg, type WasmFfmpeg } from "../ffmpeg/wasm";
import { type EncodeOptions, requireEncoding, requireEvenSize, type VideoFrames } from "./video-frames";
import { rgbToI420 } from "./yuv";

const FILES = { input: "/frames.yuv", output: "/video" };

/**
 * Makes sure that the built-in encoder is there. where: who asks, for the error.
 *
 * @throws VdError `unsupported` with what to do, `attr` for another format
 */
export function requireBuiltin(format: FfmpegFormat, where = "video"): WasmFfmpeg {
  requireArgument(where, format, FFMPEG_FORMAT);
  return requireWasmFfmpeg(`.${format}`, where, "choose the encoder ffmpeg, or write .webp, .gif or .png");
}

/**
 * Encodes frames as MP4 (H.264 by x264) or WebM (VP8 by libvpx) with FFmpeg as WebAssembly: 4:2:0, the same bytes on every machine;
 * BT.709, or BT.601 for VP8, which has nothing else. It works in a thread of its own; one frame at a time is converted and sent there.
 *
 * @throws VdError `attr` for what is no video and for another format, `shape` for odd sides, `unsupported` where the encoder is not installed or refuses the frames; the
 *   signal's reason when it is cancelled
 */
export async function encodeBuiltin(
  format: FfmpegFormat,
  video: VideoFrames,
  options: EncodeOptions = {},
): Promise<Uint8Array> {
  requireArgument("encodeBuiltin format", format, FFMPEG_FORMAT);
  requireEncoding(video, options);
  requireEvenSize(video);
  const ffmpeg = requireBuiltin(format);
  const { width, height, numFrames: numPieces } = video;
  const words = encodingArguments("wasm", format, video, { ...FILES, comment: options.comment });
  const weights = lumaWeights("wasm", format);
  const pieceOf = async (index: number) => {
    const frame = await runInSlices(rgbToI420.inPieces(video.frame(index), width, height, weights));
    options.onFrame?.(index + 1);
    return frame;
  };
  try {
    return await runWasmFfmpeg(ffmpeg, { ...FILES, words, numPieces, pieceOf }, options.signal);
  } catch (cause) {
    throw options.signal?.aborted ? options.signal.reason : encoderFailed(format, video, cause);
  }
}

function encoderFailed(format: FfmpegFormat, { width, height, numFrames }: VideoFrames, cause: unknown): VdError {
  const words = (cause instanceof Error ? cause.message : String(cause)).trim().split("\n").at(-1);
  return new VdError({
    code: "unsupported",
    where: "encoder builtin",
    expected: `frames that ${encoderName("wasm", format)} takes in WebAssembly`,
    got: `${numFrames} frames of ${width}x${height}: ${words}`,
    hint: "Choose the encoder ffmpeg, or write a .webp or .gif file.",
    cause,
  });
}
