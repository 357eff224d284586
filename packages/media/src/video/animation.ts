import type { Sharp } from "sharp";
import { loadSharp } from "../pictures/sharp";
import { breathe, type EncodeOptions, type VideoFrames } from "./video-frames";

/** Lossy WebP of 90 with sharp chroma keeps clear of visible blocks; see the encoder tests for its PSNR. */
const WEBP_QUALITY = 90;

/** 1 to 10. Measured: 5 takes half as long as sharp's 7 and loses 1 dB; 25 frames of 1024 x 576 with noise take 27 s. */
const GIF_EFFORT = 5;

/** An endless loop, in the notation of GIF and WebP. */
const FOREVER = 0;

/** Encodes frames as an animated WebP that loops; its clock ticks in milliseconds. */
export async function encodeWebp(video: VideoFrames, options: EncodeOptions = {}): Promise<Uint8Array> {
  await breathe(options);
  const image = (await stacked(video)).webp({
    quality: WEBP_QUALITY,
    smartSubsample: true,
    delay: frameDelaysMs(video, 1),
    loop: FOREVER,
  });
  return finish(image, video, options);
}

/** Encodes frames as an animated GIF that loops: 256 colours a frame, and a clock of 1/100 s. */
export async function encodeGif(video: VideoFrames, options: EncodeOptions = {}): Promise<Uint8Array> {
  await breathe(options);
  const image = (await stacked(video)).gif({ effort: GIF_EFFORT, delay: frameDelaysMs(video, 10), loop: FOREVER });
  return finish(image, video, options);
}

/** Encodes one frame, [H,W,3], as PNG, without loss. */
export async function encodePng(
  { width, height }: Pick<VideoFrames, "width" | "height">,
  frame: Uint8Array,
): Promise<Uint8Array> {
  const sharp = await loadSharp();
  return sharp(frame, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/**
 * How long each frame shows in milliseconds, each at least one tick, on a clock that ticks every `tickMs`: frame ends are
 * rounded, not durations, so that errors do not add up.
 */
export function frameDelaysMs({ numFrames, fps }: Pick<VideoFrames, "numFrames" | "fps">, tickMs: number): number[] {
  const endTicks = (frameIndex: number) => Math.round((frameIndex * 1000) / fps / tickMs);
  return Array.from({ length: numFrames }, (_, i) => Math.max(1, endTicks(i + 1) - endTicks(i)) * tickMs);
}

async function stacked({ data, width, height, numFrames }: VideoFrames): Promise<Sharp> {
  const sharp = await loadSharp();
  return sharp(data, { raw: { width, height: height * numFrames, channels: 3, pageHeight: height } });
}

async function finish(image: Sharp, { numFrames }: VideoFrames, options: EncodeOptions): Promise<Uint8Array> {
  const bytes = await image.toBuffer();
  options.signal?.throwIfAborted();
  options.onFrame?.(numFrames);
  return bytes;
}
