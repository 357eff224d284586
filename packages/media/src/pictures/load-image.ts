import { VdError } from "@vd/kernels-native";
import type { Metadata, Sharp } from "sharp";
import { foreignAsPng, otherKind, refuseHeic } from "./foreign";
import { type PictureSource, readPicture, WANTED_PICTURE } from "./picture-source";
import { checkRgbImage, type RgbImage } from "./rgb-image";
import { loadSharp } from "./sharp";

/** The most pixels of a picture that is loaded. Pillow refuses more: twice what a quarter gibibyte of RGB holds. Source: python-pillow/Pillow src/PIL/Image.py. */
export const MAX_PICTURE_PIXELS = 178_956_970;

/** Up to this many pixels a picture is decoded as it is: what follows resizes it as Pillow does, bit for bit. */
const PLAIN_PIXELS = 2 ** 24;
/** How many times wider and higher than needed a larger picture stays: then the second resize hides how the first was done.
 *  Measured beside Pillow in load-image.test.ts. */
const SPARE = 2;

/** The formula that Pillow converts with; colour profiles are left aside there too. [pixels,4] to [pixels,3]. */
function cmykToRgb(cmyk: Uint8Array): Uint8Array {
  const rgb = new Uint8Array((cmyk.length / 4) * 3);
  for (let from = 0, to = 0; from < cmyk.length; from += 4, to += 3) {
    const light = 255 - cmyk[from + 3]!;
    for (let ink = 0; ink < 3; ink++) rgb[to + ink] = light - Math.round((cmyk[from + ink]! * light) / 255);
  }
  return rgb;
}

function describeFailure(where: string, bytes: Uint8Array, cause: unknown): VdError {
  const message = (cause as Error).message.split("\n")[0]!.replace(/:$/, "");
  const damaged = { got: `a damaged one (${message})`, hint: "The file may be cut off: copy or download it again." };
  const unknown = { got: `${bytes.length} bytes that are none`, hint: "Convert it to PNG first." };
  const isUnknown = /unsupported image format/.test(message);
  const { got, hint } = otherKind(bytes) ?? (isUnknown ? unknown : damaged);
  return new VdError({ code: "io", where, expected: WANTED_PICTURE, got, hint, cause });
}

function checkSize(where: string, { width, height }: Metadata): void {
  if (width * height <= MAX_PICTURE_PIXELS) return;
  const expected = `a picture of at most ${MAX_PICTURE_PIXELS} pixels`;
  const got = `${width}×${height} pixels`;
  throw new VdError({ code: "memory", where, expected, got, hint: "Scale it down first." });
}

/** The size in pixels at which a picture will be used. */
export interface PictureUse {
  width: number;
  height: number;
}

/** Has a large picture shrunk while it is decoded, but not below {@link SPARE} times what covers the use. */
function shrunk(picture: Sharp, { autoOrient: { width, height } }: Metadata, use: PictureUse | undefined): Sharp {
  if (!use || width * height <= PLAIN_PIXELS) return picture;
  const scale = SPARE * Math.max(use.width / width, use.height / height);
  if (scale >= 1) return picture;
  const size = { width: Math.ceil(width * scale), height: Math.ceil(height * scale) };
  return picture.resize({ ...size, fit: "fill", kernel: "lanczos3" });
}

async function decodeBy(sharp: typeof import("sharp").default, bytes: Uint8Array, where: string, use?: PictureUse) {
  // The header alone, so that too large a picture is refused with its size and before it is decoded.
  const metadata = await sharp(bytes, { limitInputPixels: false }).metadata();
  checkSize(where, metadata);
  // Pillow applies no colour profile when it converts to RGB, so none is applied here.
  const picture = sharp(bytes, { ignoreIcc: true, failOn: "error", limitInputPixels: MAX_PICTURE_PIXELS });
  const isCmyk = metadata.space === "cmyk";
  const space = isCmyk ? "cmyk" : "srgb";
  if (isCmyk) picture.pipelineColourspace(space);
  const upright = shrunk(picture.autoOrient(), metadata, use).removeAlpha().toColourspace(space);
  const { data, info } = await upright.raw().toBuffer({ resolveWithObject: true });
  const plain = new Uint8Array(data.buffer, data.byteOffset, data.length);
  return { width: info.width, height: info.height, data: isCmyk ? cmykToRgb(plain) : plain };
}

async function decode(bytes: Uint8Array, where: string, use?: PictureUse): Promise<RgbImage> {
  if (bytes.length === 0) throw new VdError({ code: "io", where, expected: WANTED_PICTURE, got: "an empty file" });
  refuseHeic(bytes, where);
  const sharp = await loadSharp();
  try {
    const image = await decodeBy(sharp, (await foreignAsPng(bytes, where, MAX_PICTURE_PIXELS)) ?? bytes, where, use);
    checkRgbImage(image, where);
    return image;
  } catch (cause) {
    throw cause instanceof VdError ? cause : describeFailure(where, bytes, cause);
  }
}

/**
 * Loads a picture from any {@link PictureSource}, pixels being checked and returned as they are, as
 * Pillow's `convert("RGB")` gives it after its EXIF orientation is applied: [H,W,3]. Alpha is dropped, not blended;
 * colour profiles are not applied; of an animation the first frame counts. Unlike in Pillow, 16-bit grey keeps its high
 * bytes, where Pillow turns all but the darkest 256 levels white. use: at which size it will be used; a picture of more
 * than 16 megapixels is then shrunk while it is decoded, to twice what covers that size, which saves most of the time.
 * Source: huggingface/diffusers@58eb52c utils/loading_utils.py `load_image`.
 *
 * @throws VdError `io` for what cannot be read or is no picture, `unsupported` for HEIC, `memory` for too many pixels, `shape` or `dtype` for
 *   pixels that do not fit their sizes or are no bytes, `attr` for other values, `unsupported` where the image library
 *   cannot be loaded
 * @example
 * ```ts
 * import { loadImage } from "@vd/media";
 *
 * const { width, height, data } = await loadImage("start.png");
 * console.log(width, height, data.length === 3 * width * height); // …, …, true
 * ```
 */
export async function loadImage(source: PictureSource, use?: PictureUse): Promise<RgbImage> {
  if (isPixels(source)) {
    checkRgbImage(source, "image");
    return source;
  }
  const read = await readPicture(source);
  if (read) return decode(read.bytes, read.where, use);
  const expected = "a path or address, a picture file's bytes, Blob or stream, or { width, height, data }";
  throw new VdError({ code: "attr", where: "image", expected, got: source === null ? "null" : typeof source });
}

/** Plain objects with `data`; streams and the like may have a member of that name too. */
const isPixels = (source: unknown): source is RgbImage =>
  typeof source === "object" &&
  source !== null &&
  "data" in source &&
  !(Symbol.asyncIterator in source) &&
  !(source instanceof Blob);
