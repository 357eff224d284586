import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { PATH, requireArgument, VdError } from "@vd/kernels-native";
import { runInSlices } from "@vd/tensor";
import { type EncodeOptions, requireEncoding, requireEvenSize, type VideoFrames } from "../video/video-frames";
import { type LumaWeights, rgbToI420 } from "../video/yuv";
import { encoderName, encodingArguments, FFMPEG_FORMAT, type FfmpegFormat, lumaWeights } from "./encoding-arguments";

const PROGRAM = { ...PATH, expected: "the name or path of ffmpeg" };

/** How much of ffmpeg's last words goes into a message. */
const MAX_MESSAGE_LETTERS = 300;

/**
 * Makes sure that ffmpeg is there and has the encoder for a format, before any work is done. ffmpeg: its name or path; a
 * name is looked up on the PATH. where: who asks, for the error.
 * @throws VdError `unsupported` with what to do, `attr` for another format.
 */
export async function requireFfmpeg(ffmpeg: string, format: FfmpegFormat, where = "video"): Promise<void> {
  requireArgument(where, ffmpeg, PROGRAM);
  requireArgument(where, format, FFMPEG_FORMAT);
  const name = encoderName("program", format);
  const otherwise = "choose the encoder builtin";
  const expected = `an ffmpeg with ${name} on the PATH, which .${format} needs here`;
  const listing = await run(ffmpeg, ["-hide_banner", "-encoders"]).catch((cause: unknown) => {
    const hint = `Install ffmpeg, or ${otherwise}.`;
    throw new VdError({ code: "unsupported", where, expected, got: "none that starts", hint, cause });
  });
  if (!listing.split(/\s+/).includes(name)) {
    const hint = `Install an ffmpeg with ${name}, or ${otherwise}.`;
    throw new VdError({ code: "unsupported", where, expected, got: "one without it", hint });
  }
}

/**
 * Has ffmpeg encode frames into the file `path`; frames go in as I420, converted here, one at a time.
 * @throws VdError `attr` for what are no video, no format and no paths, `shape` for odd sides, `io` with ffmpeg's last words when it fails.
 */
export async function encodeWithFfmpeg(
  ffmpeg: string,
  format: FfmpegFormat,
  path: string,
  video: VideoFrames,
  options: EncodeOptions,
): Promise<void> {
  requireArgument("encodeWithFfmpeg ffmpeg", ffmpeg, PROGRAM);
  requireArgument("encodeWithFfmpeg format", format, FFMPEG_FORMAT);
  requireArgument("encodeWithFfmpeg path", path, PATH);
  requireEncoding(video, options);
  requireEvenSize(video);
  // With "file:" a name such as "-x.mp4" or "a:b.mp4" is read neither as an option nor as a protocol.
  const words = encodingArguments("program", format, video, {
    ...{ input: "pipe:0", output: `file:${path}`, comment: options.comment },
  });
  const child = spawn(ffmpeg, words, { stdio: ["pipe", "ignore", "pipe"] });
  const stop = () => child.kill("SIGKILL");
  options.signal?.addEventListener("abort", stop, { once: true });
  const ended = endOf(child);
  const weights = lumaWeights("program", format);
  let feedError: unknown;
  try {
    await feed(child.stdin, video, weights, options, ended);
  } catch (error) {
    feedError = error;
    if (options.signal?.aborted) stop();
  }
  child.stdin.destroy();
  const { status, message } = await ended;
  options.signal?.removeEventListener("abort", stop);
  options.signal?.throwIfAborted();
  // A closed pipe means that ffmpeg gave up: its own words say why.
  if (status !== 0) throw failed(path, status, message);
  if (feedError) throw feedError;
}

/** A stream that its dead reader left behind never drains: hence the race with the end of the process. */
async function feed(
  stdin: Writable,
  video: VideoFrames,
  weights: LumaWeights,
  options: EncodeOptions,
  ended: Promise<End>,
): Promise<void> {
  // Errors of the pipe come through `once` and the callback of `end`; this keeps the rest from ending the process.
  stdin.on("error", () => {});
  for (let i = 0; i < video.numFrames; i++) {
    options.signal?.throwIfAborted();
    const frame = await runInSlices(rgbToI420.inPieces(video.frame(i), video.width, video.height, weights));
    const hasRoom = stdin.write(frame);
    if (!hasRoom) await Promise.race([once(stdin, "drain"), ended]);
    options.onFrame?.(i + 1);
  }
  const flushed = new Promise<void>((resolve, reject) => {
    stdin.end((error?: Error | null) => (error ? reject(error) : resolve()));
  });
  await Promise.race([flushed, ended]);
}

interface End {
  status: number | string;
  message: string;
}

function endOf(child: ChildProcessByStdio<Writable, null, Readable>): Promise<End> {
  let message = "";
  child.stderr.on("data", (chunk: Buffer) => {
    message = (message + chunk.toString()).slice(-MAX_MESSAGE_LETTERS);
  });
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ status: "not started", message: error.message }));
    child.once("close", (code, signal) => resolve({ status: code ?? signal ?? "unknown", message }));
  });
}

function failed(path: string, status: number | string, message: string): VdError {
  const words = message.trim().split("\n").at(-1) ?? "";
  const isFull = /no space left/i.test(message);
  return new VdError({
    code: "io",
    where: "ffmpeg",
    expected: `a video written to ${path}`,
    got: `exit status ${status}${words ? `: ${words}` : ""}`,
    hint: isFull ? "Free some space or choose another folder." : "Try the encoder builtin.",
  });
}

function run(program: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(output) : reject(new Error(`exit status ${code}`))));
  });
}
