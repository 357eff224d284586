import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import {
  having,
  isVdError,
  oneOfThese,
  optional,
  PATH,
  requireArgument,
  requireFields,
  SIGNAL,
  TEXT,
  throwIfAborted,
  VdError,
  type WantedFields,
} from "@vd/kernels-native";
import { requireWasmFfmpeg, runWasmFfmpeg } from "../ffmpeg/wasm";
import type { RgbImage } from "../pictures/rgb-image";
import { PpmReader } from "./ppm-reader";
import { FPS } from "./video-frames";

/** How to read a video file. */
export interface ReadVideoOptions {
  /** Size of the frames in pixels: the middle of the video in that shape is scaled to it. Default the video's own. */
  size?: { width: number; height: number } | undefined;
  /** Frames a second: the video's own are repeated or left out, so that it lasts as long, but for a first one, which there is always.
   *  Default the video's own, each once. */
  fps?: number | undefined;
  /** Name or path of ffmpeg; without one that starts, FFmpeg as WebAssembly decodes. Default `ffmpeg`. */
  ffmpeg?: string | undefined;
  /** What decodes: `auto` (default) is ffmpeg where it is there, else `builtin`, WebAssembly. */
  decoder?: "auto" | "ffmpeg" | "builtin" | undefined;
  signal?: AbortSignal | undefined;
  /** What the caller's users call the file, for errors; default its path. */
  where?: string | undefined;
}

const OPTIONS: WantedFields = {
  size: optional(having("a size { width, height }", ["width", "height"])),
  fps: optional(FPS),
  ffmpeg: optional(PATH),
  decoder: optional(oneOfThese(["auto", "ffmpeg", "builtin"])),
  signal: optional(SIGNAL),
  where: optional(TEXT),
};

/** A file to be read, and how. */
interface Job extends ReadVideoOptions {
  path: string;
  /** For errors. */
  where: string;
}

/** Bytes of frames that WebAssembly decodes at a time. */
const SEGMENT_BYTES = 128 * 2 ** 20;
/** No video that is read into memory whole, as WebAssembly needs it, is larger. */
const MOST_FILE_BYTES = 1_536 * 2 ** 20;
/** Where WebAssembly has the file in its own file system. */
const WASM_INPUT = "/video";
/** What the built-in decoder is called in messages. */
const WASM_NAME = "FFmpeg as WebAssembly";
/** How much of ffmpeg's last words goes into a message. */
const MAX_MESSAGE_LETTERS = 300;

/** What ffmpeg is told: every frame once, as PPM pictures of 8 bits behind each other, whatever depth the video has.
 *  rateMode: what this ffmpeg calls the option for "every frame once". */
const output = (path: string, rateMode = "-fps_mode") => [
  ...["-map", "0:v:0", rateMode, "passthrough", "-c:v", "ppm", "-pix_fmt", "rgb24", "-f", "image2pipe", path],
];

/** The first version with `-fps_mode`; before it was `-vsync`. Source: FFmpeg's Changelog, version 5.1. */
const FPS_MODE_SINCE = 5.1;

/** What an ffmpeg of that version calls the option; builds without a number are newer. */
function rateModeOf(version: string): string {
  const number = /^ffmpeg version n?(\d+\.\d+)/.exec(version)?.[1];
  return number !== undefined && Number(number) < FPS_MODE_SINCE ? "-vsync" : "-fps_mode";
}

/** Filters behind each other: first the rate, so that counting its frames misses and repeats none. */
function filtersOf({ size, fps }: Job, part?: string): string[] {
  const filters = [
    ...(fps === undefined ? [] : [`fps=${fps}`]),
    ...(part === undefined ? [] : [part]),
    ...(size ? [`scale=${size.width}:${size.height}:force_original_aspect_ratio=increase`] : []),
    ...(size ? [`crop=${size.width}:${size.height}`] : []),
  ];
  return filters.length > 0 ? ["-vf", filters.join(",")] : [];
}

/** What ffmpeg says of a file whose only streams are sound. */
const NO_PICTURES = /matches no streams/;
/** What says nothing of the file: advice for the command line, how WebAssembly ends, and that there is no output then. */
const IDLE_WORDS =
  /^(?:To ignore this|Aborted\(|Conversion failed|Error (?:opening output|while filtering|marking filters))/;

/** The line that says what is wrong with the file, without its name, which the message has already. */
function reasonIn(words: string, path: string): string {
  if (NO_PICTURES.test(words)) return "one without pictures";
  const lines = words.split("\n").map((line) => line.trim());
  const telling = lines.filter((line) => line !== "" && !IDLE_WORDS.test(line)).at(-1);
  const names = [`file:${path}: `, `${WASM_INPUT}: `];
  return names.reduce((line, name) => line.replace(name, ""), telling ?? "none that can be decoded");
}

/** decoder: what failed, for the hint. */
function damaged({ path, where }: Job, decoder: string, words: string, cause?: unknown): VdError {
  const said = reasonIn(words, path);
  const otherwise = decoder === WASM_NAME ? " Put ffmpeg on the PATH: it reads more formats." : "";
  return new VdError({
    code: "io",
    where,
    expected: "a video with frames",
    got: where === path ? said : `${path}: ${said}`,
    hint: NO_PICTURES.test(words)
      ? "It has sound alone: give a file with a video."
      : `The file may be damaged, cut off, or of a format that ${decoder} does not read.${otherwise}`,
    cause,
  });
}

/** Frames by the program: it waits while nobody takes frames, because its pipe is full. */
async function* byProgram(ffmpeg: string, version: string, job: Job): AsyncGenerator<RgbImage> {
  const { path, where, signal } = job;
  const words = ["-v", "error", "-nostdin", "-i", `file:${path}`, ...filtersOf(job)];
  const child = spawn(ffmpeg, [...words, ...output("pipe:1", rateModeOf(version))], {
    stdio: ["ignore", "pipe", "pipe"],
  });
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
    const reader = new PpmReader(where);
    for await (const chunk of child.stdout) yield* reader.take(chunk as Buffer);
    const status = await ended;
    throwIfAborted(signal, where, { work: "the reading" });
    if (status !== 0) throw status instanceof Error ? status : damaged(job, "ffmpeg", message);
    reader.end();
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
    await ended;
  }
}

/** Frames by WebAssembly, some at a time: it has no pipe, so each run begins at the file's start and keeps what is new. */
async function* byWasm(job: Job): AsyncGenerator<RgbImage> {
  const { where, signal } = job;
  const ffmpeg = requireWasmFfmpeg("a video file", where, "put ffmpeg on the PATH");
  const bytes = await fileBytes(job);
  const files = { input: WASM_INPUT, output: "/frames" };
  let [next, count] = [0, 1];
  for (;;) {
    throwIfAborted(signal, where, { work: "the reading" });
    const filters = filtersOf(job, `trim=start_frame=${next}:end_frame=${next + count}`);
    const words = ["-v", "error", "-nostdin", "-i", files.input, ...filters, ...output(files.output)];
    const pieces = await runWasmFfmpeg(ffmpeg, { ...files, bytes: bytes.slice(), words }, signal).catch((cause) => {
      throwIfAborted(signal, where, { work: "the reading" });
      // Behind the last frame FFmpeg has nothing to write.
      if (next > 0) return new Uint8Array();
      throw damaged(job, WASM_NAME, (cause as Error).message, cause);
    });
    const frames = [...new PpmReader(where).take(pieces)];
    yield* frames;
    if (frames.length < count) return;
    next += frames.length;
    count = Math.max(Math.floor(SEGMENT_BYTES / frames[0]!.data.length), 1);
  }
}

async function fileBytes(job: Job): Promise<Uint8Array> {
  const file = await openFile(job);
  try {
    const { size } = await file.stat();
    if (size <= MOST_FILE_BYTES) return await readFile(file);
    const got = `${Math.round(size / 2 ** 20)} MiB`;
    const expected = `a video of at most ${MOST_FILE_BYTES / 2 ** 20} MiB for FFmpeg as WebAssembly`;
    throw new VdError({ code: "memory", where: job.where, expected, got, hint: "Put ffmpeg on the PATH." });
  } finally {
    await file.close();
  }
}

async function openFile({ path, where }: Job) {
  try {
    return await open(path);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const got = `${missing ? "no such file" : (cause as Error).message}${where === path ? "" : ` (${path})`}`;
    throw new VdError({ code: "io", where, expected: "a video file", got, cause });
  }
}

/** What the program says of its version; undefined if it does not start. */
function versionOf(ffmpeg: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(ffmpeg, ["-version"], { stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.once("error", () => resolve(undefined));
    child.once("close", (code) => resolve(code === 0 ? said : undefined));
  });
}

/**
 * Reads the frames of a video file (MP4, WebM, and whatever else ffmpeg reads) one by one, as they are asked for: by ffmpeg
 * where it is on the PATH, else by FFmpeg as WebAssembly, which begins anew for every 128 MiB of frames.
 *
 * @throws VdError `attr` for what is no path and for options that are none, `io` for a file that cannot be read, `unsupported` without any ffmpeg, `cancelled` once the signal has
 *   fired
 * @example
 * ```ts
 * import { readVideo } from "@vd/media";
 *
 * for await (const { width, height, data } of readVideo("clip.mp4")) console.log(width, height, data.length);
 * ```
 */
export async function* readVideo(path: string, options: ReadVideoOptions = {}): AsyncGenerator<RgbImage> {
  requireArgument("readVideo", path, PATH);
  requireFields("readVideo", options, OPTIONS);
  const { signal, where = path } = options;
  const job = { ...options, path, where };
  throwIfAborted(signal, where, { work: "the reading" });
  await (await openFile(job)).close();
  let isEmpty = true;
  for await (const frame of decoded(job)) {
    isEmpty = false;
    yield frame;
  }
  if (isEmpty) yield* onlyFrame(job);
}

/** The first frame of a video from which the wanted rate takes none: it is shorter than half a frame of that rate. */
async function* onlyFrame(job: Job): AsyncGenerator<RgbImage> {
  for await (const frame of decoded({ ...job, fps: undefined })) return yield frame;
  throw damaged(job, "ffmpeg", "");
}

/** Frames by the decoder that is asked for, or there. */
async function* decoded(job: Job): AsyncGenerator<RgbImage> {
  const { ffmpeg = "ffmpeg", decoder = "auto", where } = job;
  const version = decoder === "builtin" ? undefined : await versionOf(ffmpeg);
  if (decoder === "ffmpeg" || version !== undefined) {
    try {
      yield* byProgram(ffmpeg, version ?? "", job);
    } catch (cause) {
      if (isVdError(cause)) throw cause;
      const got = (cause as Error).message;
      throw new VdError({ code: "unsupported", where, expected: "an ffmpeg that starts", got, cause });
    }
    return;
  }
  yield* byWasm(job);
}
