import { extname } from "node:path";
import { encodeGif, encodePng, encodeWebp } from "@vd/media";
import type { GenerateOptions } from "@vd/svd-pipeline";
import { valueError } from "@vd/svd-pipeline/options";
import { writeWholeFile } from "@vd/tensor";

/** A picture of the video as far as it has come. frames: [F,H,W,3] */
export type Preview = Parameters<NonNullable<GenerateOptions["onPreview"]>>[0];

/** Keeps one preview file up to date. */
export interface PreviewWriter {
  /** Takes the preview of a step; writes it if the last one is done. */
  take(preview: Preview): void;
  /** Waits for the write that is under way. */
  settle(): Promise<void>;
}

/** How a preview writer works. */
export interface PreviewOptions {
  path: string;
  fps: number;
  onWritten(path: string, step: number): void;
  /** Called once, with the first error: a preview that fails never stops the run. */
  onFailure(error: unknown): void;
}

/** A run shows about this many previews: each decodes a frame, and fourteen frames are a whole decode. */
const NUM_PREVIEWS = 8;

/** Smaller previews, such as those of latents, are enlarged to be seen. */
const LEAST_WIDTH = 128;

const EXTENSIONS = [".webp", ".gif", ".png"];

/** @throws VdError `attr` unless the name ends in .webp, .gif (both animated) or .png (frames side by side). */
export function checkPreviewPath(path: string): void {
  if (EXTENSIONS.includes(extname(path).toLowerCase())) return;
  const expected = `a file name that ends in ${EXTENSIONS.join(", ")}`;
  throw valueError("--preview", expected, path, "The picture to animate is named without --preview= in front");
}

/** @returns the number of steps between two previews. */
export function previewInterval(steps: number): number {
  return Math.max(1, Math.round(steps / NUM_PREVIEWS));
}

/** @returns a writer that replaces one file with each preview. */
export function previewWriter({ path, fps, onWritten, onFailure }: PreviewOptions): PreviewWriter {
  let writing: Promise<void> | undefined;
  let failed = false;
  return {
    take(preview) {
      if (writing || failed) return;
      // The pipeline may use the buffer again as soon as this returns.
      const copy = { ...preview, frames: preview.frames.slice() };
      writing = writePreview(path, copy, fps)
        .then(() => onWritten(path, preview.step))
        .catch((error: unknown) => {
          failed = true;
          onFailure(error);
        })
        .finally(() => {
          writing = undefined;
        });
    },
    settle: async () => writing,
  };
}

async function writePreview(path: string, preview: Preview, fps: number): Promise<void> {
  await writeWholeFile(path, await encodePreview(path, preview, fps), { where: "--preview" });
}

async function encodePreview(path: string, preview: Preview, fps: number): Promise<Uint8Array> {
  const { numFrames, height, width, frames: data } = enlarged(preview);
  const extension = extname(path).toLowerCase();
  if (extension === ".png")
    return encodePng({ width: width * numFrames, height }, sideBySide(data, numFrames, height, width));
  const frameBytes = 3 * width * height;
  const frame = (i: number) => data.subarray(i * frameBytes, (i + 1) * frameBytes);
  const video = { width, height, numFrames, fps, data, frame };
  return extension === ".gif" ? encodeGif(video) : encodeWebp(video);
}

/** Repeats pixels until a frame is wide enough to be seen. */
function enlarged(preview: Preview): Preview {
  const { width, height, numFrames, frames } = preview;
  const factor = Math.ceil(LEAST_WIDTH / width);
  if (factor <= 1) return preview;
  const bigWidth = width * factor;
  const numRows = numFrames * height * factor;
  const big = new Uint8Array(numRows * bigWidth * 3);
  for (let row = 0; row < numRows; row++) {
    const from = Math.floor(row / factor) * width;
    for (let x = 0; x < bigWidth; x++) {
      const pixel = 3 * (from + Math.floor(x / factor));
      big.set(frames.subarray(pixel, pixel + 3), 3 * (row * bigWidth + x));
    }
  }
  return { ...preview, width: bigWidth, height: height * factor, frames: big };
}

/** [F,H,W,3] → [H,F*W,3] */
function sideBySide(frames: Uint8Array, numFrames: number, height: number, width: number): Uint8Array {
  const strip = new Uint8Array(frames.length);
  const rowBytes = width * 3;
  for (let i = 0; i < numFrames * height; i++) {
    const target = ((i % height) * numFrames + Math.floor(i / height)) * rowBytes;
    strip.set(frames.subarray(i * rowBytes, (i + 1) * rowBytes), target);
  }
  return strip;
}
