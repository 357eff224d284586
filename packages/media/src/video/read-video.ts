import { readFile } from "node:fs/promises";
import { VdError } from "@vd/kernels-native";
import { fileError } from "@vd/tensor";
import { requireWasmFfmpeg, runWasmFfmpeg, type WasmFfmpeg } from "../ffmpeg/wasm";

/** How a video is read. */
export interface ReadVideoOptions {
  /** Size of the frames in pixels; the middle of the video in that shape is scaled to it. */
  width: number;
  height: number;
  /** Frames a second: the video's own are repeated or left out, so that it lasts as long. */
  fps: number;
  signal?: AbortSignal | undefined;
  /** What the caller's users call the video's path, for errors; default `video`. */
  where?: string | undefined;
}

const FILES = { input: "/video", output: "/frames.rgb" };
const CHANNELS = 3;
/** Bytes of frames that are decoded at a time. */
const PIECE_BYTES = 2 ** 26;
/** FFmpeg's copy of the file is in memory beside ours. */
const MAX_FILE_BYTES = 2 ** 29;

/**
 * Reads a video frame by frame with FFmpeg as WebAssembly: MP4, WebM, MOV, MKV, GIF and what else it knows. Some seconds are decoded at a time, in
 * a thread of its own. Yields RGB, [height, width, 3], each in memory of its own.
 *
 * @throws VdError `io` for a file that cannot be read, `attr` for one that is no video, `unsupported` where the decoder is not installed; the signal's
 *   reason when it is cancelled
 * @example
 * ```ts
 * import { readVideo } from "@vd/media";
 *
 * for await (const frame of readVideo("clip.mp4", { width: 96, height: 64, fps: 25 })) console.log(frame.length); // 18432
 * ```
 */
export async function* readVideo(path: string, options: ReadVideoOptions): AsyncGenerator<Uint8Array, void> {
  const { width, height, where = "video" } = options;
  const ffmpeg = requireWasmFfmpeg("reading a video", where, "read pictures instead");
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fileError(path, "a video that can be read", error, where);
  });
  if (bytes.length > MAX_FILE_BYTES) {
    const [most, got] = [MAX_FILE_BYTES, bytes.length].map((count) => `${Math.round(count / 2 ** 20)} MiB`);
    throw new VdError({ code: "unsupported", where, expected: `a file of at most ${most}`, got: `${got} (${path})` });
  }
  const frameBytes = width * height * CHANNELS;
  const numAtOnce = Math.max(1, Math.floor(PIECE_BYTES / frameBytes));
  for (let first = 0; ; first += numAtOnce) {
    const frames = await decodePiece(ffmpeg, path, bytes, first, numAtOnce, options);
    const count = Math.floor(frames.length / frameBytes);
    if (count === 0 && first === 0) throw notVideo(path, where, "a file without frames");
    for (let i = 0; i < count; i++) yield frames.slice(i * frameBytes, (i + 1) * frameBytes);
    if (count < numAtOnce) return;
  }
}

/** Frames from `first` on, at most `count`, one after the other. */
async function decodePiece(
  ffmpeg: WasmFfmpeg,
  path: string,
  bytes: Uint8Array,
  first: number,
  count: number,
  { width, height, fps, signal, where = "video" }: ReadVideoOptions,
): Promise<Uint8Array> {
  const shape = `scale=${width}:${height}:force_original_aspect_ratio=increase,crop=${width}:${height}`;
  // Frames are counted after the rate is settled: no piece misses or repeats one.
  const filters = `fps=${fps},trim=start_frame=${first}:end_frame=${first + count},${shape}`;
  const words = [
    ...["-hide_banner", "-v", "error", "-nostdin", "-y", "-i", FILES.input, "-map", "0:v:0", "-vf", filters],
    ...["-fps_mode", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", FILES.output],
  ];
  try {
    return await runWasmFfmpeg(ffmpeg, { ...FILES, words, bytes }, signal);
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    const words = (cause instanceof Error ? cause.message : String(cause)).trim().split("\n").at(-1) ?? "";
    throw notVideo(path, where, words.replace(/^.*?: /, ""), cause);
  }
}

function notVideo(path: string, where: string, words: string, cause?: unknown): VdError {
  const got = `${path}: ${words}`;
  return new VdError({
    code: "attr",
    where,
    expected: "a video file",
    got,
    hint: "Choose an MP4 or WebM file.",
    cause,
  });
}
