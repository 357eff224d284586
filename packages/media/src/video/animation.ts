import {
  COUNT,
  oneOfThese,
  optional,
  requireArgument,
  requireFields,
  TEXT,
  type WantedFields,
} from "@vd/kernels-native";
import type { Sharp } from "sharp";
import { BYTES, SIZE } from "../pictures/rgb-image";
import { loadSharp } from "../pictures/sharp";
import { framedComment, gifWithComment } from "./comment";
import { breathe, type EncodeOptions, FPS, requireEncoding, type VideoFrames } from "./video-frames";

/** Lossy WebP of 90 with sharp chroma keeps clear of visible blocks; see the encoder tests for its PSNR. */
const WEBP_QUALITY = 90;

/** 1 to 10. Measured: 5 takes half as long as sharp's 7 and loses 1 dB; 25 frames of 1024 x 576 with noise take 27 s. */
const GIF_EFFORT = 5;

/** An endless loop, in the notation of GIF and WebP. */
const FOREVER = 0;

/** Formats of animated pictures. */
export type AnimationFormat = "gif" | "webp";

/**
 * How a format's clock ticks, and the shortest time that a frame may show: browsers take 10 ms and less for 100 ms.
 * Sources: WebKit ScalableImageDecoder `frameDurationAtIndex`, Firefox FrameTimeout `FromRawMilliseconds`.
 */
const CLOCKS: Readonly<Record<AnimationFormat, { tickMs: number; leastMs: number }>> = {
  gif: { tickMs: 10, leastMs: 20 },
  webp: { tickMs: 1, leastMs: 11 },
};

const FORMAT = oneOfThese(Object.keys(CLOCKS));
const TIMES: WantedFields = { numFrames: COUNT, fps: FPS };

/** A frame of an animation. */
export interface HeldFrame {
  index: number;
  /** How long it shows. */
  delayMs: number;
}

/**
 * Returns the frames that an animation shows, and for how long: all of them, unless they follow each other faster than
 * players of the format show them. Then some are left out, evenly, and the animation lasts as long as the video. Times are
 * rounded to the format's clock by their ends, so that errors do not add up.
 *
 * @throws VdError `attr` for counts and rates that are none, and for another format
 */
export function heldFrames(video: Pick<VideoFrames, "numFrames" | "fps">, format: AnimationFormat): HeldFrame[] {
  requireFields("heldFrames", video, TIMES);
  requireArgument("heldFrames format", format, FORMAT);
  const { numFrames, fps } = video;
  const { tickMs, leastMs } = CLOCKS[format];
  const startMs = (index: number) => Math.round((index * 1000) / fps / tickMs) * tickMs;
  const endMs = Math.max(startMs(numFrames), leastMs);
  const indices = [0];
  for (let i = 1; i < numFrames; i++) {
    if (startMs(i) - startMs(indices.at(-1)!) >= leastMs && endMs - startMs(i) >= leastMs) indices.push(i);
  }
  return indices.map((index, i) => {
    const next = indices[i + 1];
    return { index, delayMs: (next === undefined ? endMs : startMs(next)) - startMs(index) };
  });
}

/** Encodes frames as an animated WebP that loops; its clock ticks in milliseconds. See {@link heldFrames} for fast videos.
 *  @throws VdError `attr` for what is no video */
export async function encodeWebp(video: VideoFrames, options: EncodeOptions = {}): Promise<Uint8Array> {
  requireEncoding(video, options);
  await breathe(options);
  const frames = heldFrames(video, "webp");
  const data = joined(video, frames);
  if (frames.length > 1 && isStill(data, video)) keepAnimated(data);
  const delay = frames.map(({ delayMs }) => delayMs);
  const image = await stacked(video, data);
  return finish(
    withComment(image, options).webp({ quality: WEBP_QUALITY, smartSubsample: true, delay, loop: FOREVER }),
    video,
    options,
  );
}

/** Encodes frames as an animated GIF that loops: 256 colours a frame, and a clock of 1/100 s. See {@link heldFrames} for
 *  fast videos. @throws VdError `attr` for what is no video */
export async function encodeGif(video: VideoFrames, options: EncodeOptions = {}): Promise<Uint8Array> {
  requireEncoding(video, options);
  await breathe(options);
  const frames = heldFrames(video, "gif");
  const delay = frames.map(({ delayMs }) => delayMs);
  const image = await stacked(video, joined(video, frames));
  // Otherwise a clip in which nothing moves would become one frame, which most players show as a still.
  const keepDuplicateFrames = true;
  const bytes = await finish(
    image.gif({ effort: GIF_EFFORT, delay, loop: FOREVER, keepDuplicateFrames }),
    video,
    options,
  );
  return options.comment === undefined ? bytes : gifWithComment(bytes, options.comment);
}

const COMMENT: WantedFields = { comment: optional(TEXT) };

/** Encodes one frame, [H,W,3], as PNG, without loss. @throws VdError `attr` for sizes below 1 and what are no bytes */
export async function encodePng(
  size: Pick<VideoFrames, "width" | "height">,
  frame: Uint8Array,
  options: Pick<EncodeOptions, "comment"> = {},
): Promise<Uint8Array> {
  requireFields("encodePng", size, SIZE);
  requireArgument("encodePng frame", frame, BYTES);
  requireFields("encodePng options", options, COMMENT);
  const { width, height } = size;
  const sharp = await loadSharp();
  return withComment(sharp(frame, { raw: { width, height, channels: 3 } }), options)
    .png()
    .toBuffer();
}

/** The picture with the comment as its description in Exif. */
function withComment(image: Sharp, { comment }: Pick<EncodeOptions, "comment">): Sharp {
  return comment === undefined ? image : image.withExif({ IFD0: { ImageDescription: framedComment(comment) } });
}

/** Copies of the frames, one after the other. */
function joined(video: VideoFrames, frames: readonly HeldFrame[]): Uint8Array {
  const frameBytes = video.width * video.height * 3;
  const data = new Uint8Array(frames.length * frameBytes);
  for (const [place, { index }] of frames.entries()) data.set(video.frame(index), place * frameBytes);
  return data;
}

function isStill(data: Uint8Array, { width, height }: VideoFrames): boolean {
  const frameBytes = width * height * 3;
  const first = data.subarray(0, frameBytes);
  for (let at = frameBytes; at < data.length; at += frameBytes) {
    if (Buffer.compare(first, data.subarray(at, at + frameBytes)) !== 0) return false;
  }
  return true;
}

/** More than what libwebp takes for equal at our quality: about 3 levels. Source: libwebp src/enc anim_encode.c,
 *  `QualityToMaxDiff`. */
const VISIBLE_TO_LIBWEBP = 8;

/** libwebp joins equal frames, and makes a picture without a clock of a clip in which all are: one byte of the last frame's
 *  last pixel, a little off, keeps it an animation. */
function keepAnimated(data: Uint8Array): void {
  const last = data.length - 1;
  data[last] = data[last]! ^ VISIBLE_TO_LIBWEBP;
}

async function stacked({ width, height }: VideoFrames, data: Uint8Array): Promise<Sharp> {
  const sharp = await loadSharp();
  const numFrames = data.length / (width * height * 3);
  return sharp(data, { raw: { width, height: height * numFrames, channels: 3, pageHeight: height } });
}

async function finish(image: Sharp, { numFrames }: VideoFrames, options: EncodeOptions): Promise<Uint8Array> {
  const bytes = await image.toBuffer();
  options.signal?.throwIfAborted();
  options.onFrame?.(numFrames);
  return bytes;
}
