import { loadSharp } from "@vd/media";
import type { Preview } from "@vd/svd-pipeline";
import type { VideoPreview } from "../videos/events";

/** Larger previews are shrunk: an event is a look, and hundreds of clients may see it. */
const MAX_SIDE = 512;
const QUALITY = 70;

/** Returns a preview's middle frame as a small picture in a `data:` address. */
export async function previewOf(preview: Preview, steps: number): Promise<VideoPreview> {
  const { width, height, numFrames, frames, step } = preview;
  const frameBytes = width * height * 3;
  const middle = Math.floor(numFrames / 2);
  const sharp = await loadSharp();
  const raw = { width, height, channels: 3 as const };
  const { data, info } = await sharp(frames.subarray(middle * frameBytes, (middle + 1) * frameBytes), { raw })
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: "inside", withoutEnlargement: true })
    .webp({ quality: QUALITY, effort: 2 })
    .toBuffer({ resolveWithObject: true });
  const url = `data:image/webp;base64,${data.toString("base64")}`;
  return { step, steps, width: info.width, height: info.height, url };
}
