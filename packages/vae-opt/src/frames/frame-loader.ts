import { cancelledError, throwIfAborted, VdError } from "@vd/kernels-native";
import { fitPicture, type RgbImage, resizeLanczos } from "@vd/media";
import { type Pausable, pausable, runInSlices } from "@vd/tensor";
import { checkSize, type VideoFrames } from "../autoencoder/checks";
import { checkCallOptions, type OptionKinds } from "../call-options";
import { inOrder, readAhead } from "./prefetch";
import { checkSource, type FrameSource, openSource } from "./sources";
import { optimalNumWorkers } from "./workers";

/** How frames are loaded. */
export interface FrameLoaderOptions {
  /** Pictures that are decoded at a time. Default {@link optimalNumWorkers}. */
  workers?: number | undefined;
  /** Frames that are kept ready, decoding ones included. Default twice the workers. */
  prefetch?: number | undefined;
  /** Cuts and scales frames to this size, as the pipeline does with pictures. Default: as they are. */
  size?: { width: number; height: number } | undefined;
  signal?: AbortSignal | undefined;
}

/** A frame and its place. */
export interface LoadedFrame extends RgbImage {
  /** From 0. */
  index: number;
}

const OPTIONS: OptionKinds = { workers: "any", prefetch: "any", size: "any", signal: "signal" };

/** Most frames and workers that can be asked for. */
const MOST = 1_024;

function checkCount(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isInteger(value) && value >= 1 && value <= MOST) return value;
  const expected = `a whole number from 1 to ${MOST}`;
  throw new VdError({ code: "attr", where: `createFrameLoader] [${name}`, expected, got: String(value) });
}

/** Checks a frame that a caller's source gives. @throws VdError `shape` */
function checkedFrame(frame: RgbImage): RgbImage {
  const isBytes = frame?.data instanceof Uint8Array;
  const count = isBytes ? checkSize("width", frame.width) * checkSize("height", frame.height) * 3 : 0;
  if (isBytes && frame.data.length === count) return frame;
  throw new VdError({
    ...{ code: "shape", where: "frames" },
    expected: isBytes
      ? `${count} levels for ${frame.width}×${frame.height} pixels of three`
      : "frames { width, height, data } with levels as bytes",
    got: isBytes ? String(frame.data.length) : typeof frame?.data,
  });
}

/** Frames in their order, decoded ahead of whoever takes them. Iterate over it once. */
export class FrameLoader implements AsyncIterable<LoadedFrame> {
  readonly workers: number;
  readonly prefetch: number;
  private isTaken = false;

  constructor(
    private readonly source: FrameSource,
    private readonly options: FrameLoaderOptions,
  ) {
    checkSource(source);
    checkCallOptions("createFrameLoader", options, OPTIONS);
    this.workers = checkCount("workers", options.workers, optimalNumWorkers());
    this.prefetch = checkCount("prefetch", options.prefetch, 2 * this.workers);
    const { size } = options;
    if (size !== undefined)
      for (const side of ["width", "height"] as const) checkSize(`createFrameLoader] [size.${side}`, size?.[side]);
  }

  [Symbol.asyncIterator](): AsyncGenerator<LoadedFrame> {
    if (this.isTaken) {
      const expected = "one loop over the frames";
      throw new VdError({ code: "unsupported", where: "createFrameLoader", expected, got: "a second one" });
    }
    this.isTaken = true;
    return this.numbered();
  }

  private async *numbered(): AsyncGenerator<LoadedFrame> {
    const { signal } = this.options;
    let index = 0;
    for await (const frame of this.frames()) {
      throwIfAborted(signal, "createFrameLoader", { work: "the reading" });
      yield { ...frame, index: index++ };
    }
  }

  private async *frames(): AsyncGenerator<RgbImage> {
    const { size, signal } = this.options;
    const found = await openSource(this.source, { use: size, signal });
    const { workers, prefetch } = this;
    if (found.kind === "stream") {
      const aborted = () => cancelledError("createFrameLoader", { work: "the reading", signal });
      const frames = found.isForeign ? this.owned(found.frames) : found.frames;
      yield* readAhead(this.fitted(frames), { prefetch, signal, aborted, answers: !found.isForeign });
    } else {
      const load = async (path: string) => {
        throwIfAborted(signal, path, { work: "the reading" });
        return this.fit(await found.load(path));
      };
      yield* inOrder(found.paths, load, { workers: Math.min(workers, prefetch), prefetch });
    }
  }

  /** Frames that a caller gives, each in an array of its own: the source may fill its array anew for a frame that is read ahead. */
  private async *owned(frames: AsyncIterable<RgbImage>): AsyncGenerator<RgbImage> {
    for await (const frame of frames) yield { ...checkedFrame(frame), data: frame.data.slice() };
  }

  private async *fitted(frames: AsyncIterable<RgbImage>): AsyncGenerator<RgbImage> {
    for await (const frame of frames) yield await this.fit(frame);
  }

  private async fit(frame: RgbImage): Promise<RgbImage> {
    const { size, signal } = this.options;
    if (!size || (frame.width === size.width && frame.height === size.height)) return frame;
    const work = { signal, where: "createFrameLoader" };
    const cut = await fitPicture(frame, size.width, size.height, work);
    if (cut.width === size.width && cut.height === size.height) return cut;
    return resizeLanczos(cut, size.width, size.height, work);
  }
}

/**
 * Loads frames of a folder of pictures (PNG, JPEG, WebP, in the order of the numbers in their names), of paths of pictures,
 * of an animated GIF or WebP, or of a video file (MP4, WebM). They come in order, decoded ahead of the loop that takes them;
 * no more than `prefetch` are held, so that memory stays bounded however long the video is. Leaving the loop ends the work.
 *
 * @throws VdError `attr` for what can be no source, and for wrong options; in the loop `io` for what cannot be read, `cancelled`
 * @example
 * ```ts
 * import { createFrameLoader } from "@vd/vae-opt";
 *
 * for await (const { index, width, height, data } of createFrameLoader("frames", { prefetch: 8 }))
 *   console.log(index, width, height, data.length); // 0 …
 * ```
 */
export function createFrameLoader(source: FrameSource, options: FrameLoaderOptions = {}): FrameLoader {
  return new FrameLoader(source, options);
}

/** The value in [-1,1] of each level. */
const VALUE_OF_LEVEL = Float32Array.from({ length: 256 }, (_, level) => level / 127.5 - 1);

/** Levels that become values between two pauses. */
const PIECE = 65_536;

/** Levels of a frame as values in [-1,1]. */
const valuesOf = pausable(function* (levels: Uint8Array): Pausable<Float32Array> {
  const values = new Float32Array(levels.length);
  for (let begin = 0; begin < levels.length; begin += PIECE) {
    const end = Math.min(begin + PIECE, levels.length);
    for (let i = begin; i < end; i++) values[i] = VALUE_OF_LEVEL[levels[i]!]!;
    yield;
  }
  return values;
});

/** Frames of one size behind each other; `parts` is empty then. */
const joined = pausable(function* (parts: Float32Array[]): Pausable<Float32Array> {
  const data = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (let part = parts.shift(); part; part = parts.shift()) {
    data.set(part, at);
    at += part.length;
    yield;
  }
  return data;
});

/**
 * Collects frames of a loader as a video for an autoencoder: values in [-1,1].
 *
 * @param most frames; the loop ends behind them. Default: all
 * @throws VdError as the loader; `shape` where frames differ in size or are none, `attr` for another number of them, `io` where
 *   there are none
 */
export async function collectFrames(
  frames: AsyncIterable<RgbImage>,
  most = Number.POSITIVE_INFINITY,
): Promise<VideoFrames> {
  if (most !== Number.POSITIVE_INFINITY && !(Number.isInteger(most) && most >= 1)) {
    const expected = "a whole number from 1, or Infinity";
    throw new VdError({ code: "attr", where: "collectFrames] [most", expected, got: String(most) });
  }
  const isIterable =
    typeof frames === "object" && frames !== null && (Symbol.asyncIterator in frames || Symbol.iterator in frames);
  if (!isIterable) {
    const expected = "frames to iterate over, such as createFrameLoader(…)";
    throw new VdError({
      code: "attr",
      where: "collectFrames",
      expected,
      got: frames === null ? "null" : typeof frames,
    });
  }
  const parts: Float32Array[] = [];
  let first: RgbImage | undefined;
  for await (const frame of frames) {
    checkedFrame(frame);
    first ??= frame;
    if (frame.width !== first.width || frame.height !== first.height)
      throw new VdError({
        code: "shape",
        where: `frame ${parts.length}`,
        expected: `${first.width}×${first.height} pixels, as the frames before`,
        got: `${frame.width}×${frame.height}`,
        hint: "Give the loader a size.",
      });
    parts.push(await runInSlices(valuesOf.inPieces(frame.data)));
    if (parts.length >= most) break;
  }
  if (!first) throw new VdError({ code: "io", where: "frames", expected: "at least one frame", got: "none" });
  const { width, height } = first;
  const numFrames = parts.length;
  return { numFrames, width, height, data: await runInSlices(joined.inPieces(parts)) };
}
