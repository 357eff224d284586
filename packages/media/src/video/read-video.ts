import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { isVdError, throwIfAborted, VdError } from "@vd/kernels-native";
import { requireWasmFfmpeg, runWasmFfmpeg } from "../ffmpeg/wasm";
import type { RgbImage } from "../pictures/rgb-image";
import { PpmReader } from "./ppm-reader";

/** How to read a video file. */
export interface ReadVideoOptions {
  /** Name or path of ffmpeg; without one that starts, FFmpeg as WebAssembly decodes. Default `ffmpeg`. */
  ffmpeg?: string | undefined;
  /** What decodes: `auto` (default) is ffmpeg where it is there, else `builtin`, WebAssembly. */
  decoder?: "auto" | "ffmpeg" | "builtin" | undefined;
  signal?: AbortSignal | undefined;
}

/** Bytes of frames that WebAssembly decodes at a time. */
const SEGMENT_BYTES = 128 * 2 ** 20;
/** No video that is read into memory whole, as WebAssembly needs it, is larger. */
const MOST_FILE_BYTES = 1_536 * 2 ** 20;
/** How much of ffmpeg's last words goes into a message. */
const MAX_MESSAGE_LETTERS = 300;

/** What ffmpeg is told: every frame once, as PPM pictures behind each other. */
const output = (path: string) => ["-map", "0:v:0", "-fps_mode", "passthrough", "-c:v", "ppm", "-f", "image2pipe", path];

function damaged(path: string, words: string, cause?: unknown): VdError {
  const got = words.trim().split("\n").at(-1) || "none that can be decoded";
  return new VdError({
    code: "io",
    where: path,
    expected: "a video with frames",
    got,
    hint: "The file may be damaged, cut off, or of a format that ffmpeg does not read.",
    cause,
  });
}

/** Frames by the program: it waits while nobody takes frames, because its pipe is full. */
async function* byProgram(ffmpeg: string, path: string, signal?: AbortSignal): AsyncGenerator<RgbImage> {
  const words = ["-v", "error", "-nostdin", "-i", `file:${path}`, ...output("pipe:1")];
  const child = spawn(ffmpeg, words, { stdio: ["ignore", "pipe", "pipe"] });
  let message = "";
  child.stderr.on("data", (chunk: Buffer) => {
    message = (message + chunk.toString()).slice(-MAX_MESSAGE_LETTERS);
  });
  const ended = new Promise<number | Error>((resolve) => {
    child.once("error", resolve);
    child.once("close", (code) => resolve(code ?? -1));
  });
  const stop = () => child.kill("SIGKILL");
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const reader = new PpmReader(path);
    for await (const chunk of child.stdout) yield* reader.take(chunk as Buffer);
    const status = await ended;
    throwIfAborted(signal, path, { work: "the reading" });
    if (status !== 0) throw status instanceof Error ? status : damaged(path, message);
    reader.end();
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
    await ended;
  }
}

/** Frames by WebAssembly, some at a time: it has no pipe, so each run begins at the file's start and keeps what is new. */
async function* byWasm(path: string, signal?: AbortSignal): AsyncGenerator<RgbImage> {
  const ffmpeg = requireWasmFfmpeg("a video file", path, "put ffmpeg on the PATH");
  const bytes = await fileBytes(path);
  const files = { input: "/video", output: "/frames" };
  let [next, count] = [0, 1];
  for (;;) {
    throwIfAborted(signal, path, { work: "the reading" });
    const filter = `trim=start_frame=${next}:end_frame=${next + count}`;
    const words = ["-v", "error", "-nostdin", "-i", files.input, "-vf", filter, ...output(files.output)];
    const pieces = await runWasmFfmpeg(ffmpeg, { ...files, bytes: bytes.slice(), words }, signal).catch((cause) => {
      throwIfAborted(signal, path, { work: "the reading" });
      // Behind the last frame FFmpeg has nothing to write.
      if (next > 0) return new Uint8Array();
      throw damaged(path, (cause as Error).message, cause);
    });
    const frames = [...new PpmReader(path).take(pieces)];
    yield* frames;
    if (frames.length === 0 && next === 0) throw damaged(path, "");
    if (frames.length < count) return;
    next += frames.length;
    count = Math.max(Math.floor(SEGMENT_BYTES / frames[0]!.data.length), 1);
  }
}

async function fileBytes(path: string): Promise<Uint8Array> {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    if (size <= MOST_FILE_BYTES) return await readFile(file);
    const got = `${Math.round(size / 2 ** 20)} MiB`;
    const expected = `a video of at most ${MOST_FILE_BYTES / 2 ** 20} MiB for FFmpeg as WebAssembly`;
    throw new VdError({ code: "memory", where: path, expected, got, hint: "Put ffmpeg on the PATH." });
  } finally {
    await file.close();
  }
}

async function openFile(path: string) {
  try {
    return await open(path);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const got = missing ? "no such file" : (cause as Error).message;
    throw new VdError({ code: "io", where: path, expected: "a video file", got, cause });
  }
}

/** True if the program starts. */
function starts(ffmpeg: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(ffmpeg, ["-version"], { stdio: "ignore" });
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}

/**
 * Reads the frames of a video file (MP4, WebM, and whatever else ffmpeg reads) one by one, as they are asked for: by ffmpeg
 * where it is on the PATH, else by FFmpeg as WebAssembly, which begins anew for every 128 MiB of frames.
 *
 * @throws VdError `io` for a file that cannot be read, `unsupported` without any ffmpeg, `cancelled` once the signal has
 *   fired
 * @example
 * ```ts
 * import { readVideo } from "@vd/media";
 *
 * for await (const { width, height, data } of readVideo("clip.mp4")) console.log(width, height, data.length);
 * ```
 */
export async function* readVideo(path: string, options: ReadVideoOptions = {}): AsyncGenerator<RgbImage> {
  const { ffmpeg = "ffmpeg", decoder = "auto", signal } = options;
  throwIfAborted(signal, path, { work: "the reading" });
  await (await openFile(path)).close();
  if (decoder !== "builtin" && (decoder === "ffmpeg" || (await starts(ffmpeg)))) {
    try {
      yield* byProgram(ffmpeg, path, signal);
    } catch (cause) {
      if (isVdError(cause)) throw cause;
      const got = (cause as Error).message;
      throw new VdError({ code: "unsupported", where: path, expected: "an ffmpeg that starts", got, cause });
    }
    return;
  }
  yield* byWasm(path, signal);
}
