import { loadSharp } from "@vd/media";
import type { PictureMessage } from "../protocol/frame-message";
import type { EncodePicture } from "./page-client";

/** How frames travel: by what the way to the page carries, or as said. */
export const PICTURE_CHOICES = ["auto", "rgb", "jpeg"] as const;

/** One of {@link PICTURE_CHOICES}. */
export type PictureChoice = (typeof PICTURE_CHOICES)[number];

/** Bytes a second that any wireless network carries: 4 MB/s. More goes as JPEG to other machines. */
const EASY_BYTES_PER_S = 4e6;
const JPEG_QUALITY = 90;

/** Compresses a picture; colours keep their full resolution. */
async function encodeJpeg({ width, height, data }: PictureMessage): Promise<PictureMessage> {
  const sharp = await loadSharp();
  const picture = sharp(data, { raw: { width, height, channels: 3 } });
  const file = await picture.jpeg({ quality: JPEG_QUALITY, chromaSubsampling: "4:4:4" }).toBuffer();
  return { format: "jpeg", width, height, data: file };
}

/** Chooses how frames travel to a page. isLocal: the page is on this machine. bytesPerS: of raw frames. */
export function pictureEncoder(choice: PictureChoice, isLocal: boolean, bytesPerS: number): EncodePicture {
  const isJpeg = choice === "jpeg" || (choice === "auto" && !isLocal && bytesPerS > EASY_BYTES_PER_S);
  return isJpeg ? encodeJpeg : (picture) => picture;
}
