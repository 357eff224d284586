import { VdError } from "@vd/kernels-native";
import { requireWasmFfmpeg, runWasmFfmpeg } from "../ffmpeg/wasm";

/** A format that the image library does not read and FFmpeg does. */
interface ForeignFormat {
  name: string;
  /** FFmpeg's name of what reads it. */
  demuxer: string;
  /** As many as a byte of such a file stands for at most. */
  pixelsPerByte: number;
}

const NETPBM: Readonly<Record<string, string>> = {
  ...{ P1: "pbm_pipe", P2: "pgm_pipe", P3: "ppm_pipe", P4: "pbm_pipe", P5: "pgm_pipe", P6: "ppm_pipe", P7: "pam_pipe" },
};

const latin = (bytes: Uint8Array, from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString("latin1");

function foreignFormat(bytes: Uint8Array): ForeignFormat | undefined {
  const start = latin(bytes, 0, 4);
  if (start.startsWith("BM")) return { name: "BMP", demuxer: "bmp_pipe", pixelsPerByte: 128 };
  if (start === "\0\0\x01\0") return { name: "ICO", demuxer: "ico", pixelsPerByte: Number.POSITIVE_INFINITY };
  const netpbm = /^P[1-7]\s/.test(start) && NETPBM[start.slice(0, 2)];
  return netpbm ? { name: "PPM", demuxer: netpbm, pixelsPerByte: 8 } : undefined;
}

const FILES = { input: "/picture", output: "/picture.png" };

/**
 * Returns a picture as PNG if it is a BMP, an ICO (its largest picture) or a PPM, PGM, PBM or PAM; undefined for all others.
 *
 * What its header promises beyond `maxPixels`, or beyond what so short a file can hold, is refused before there is memory for it.
 *
 * @throws VdError `unsupported` where FFmpeg is not installed as WebAssembly, Error with FFmpeg's words for a damaged one
 */
export async function foreignAsPng(
  bytes: Uint8Array,
  where: string,
  maxPixels: number,
): Promise<Uint8Array | undefined> {
  const format = foreignFormat(bytes);
  if (!format) return undefined;
  const ffmpeg = requireWasmFfmpeg(`a ${format.name} picture`, where, "save the picture as PNG or JPEG");
  const most = Math.ceil(Math.min(maxPixels, format.pixelsPerByte * bytes.length));
  const limit = ["-max_pixels", String(most)];
  const reading = ["-v", "error", "-nostdin", "-xerror", "-f", format.demuxer, ...limit, "-i", FILES.input];
  const words = [...reading, "-frames:v", "1", "-c:v", "png", "-f", "image2", "-update", "1", FILES.output];
  return runWasmFfmpeg(ffmpeg, { ...FILES, bytes, words });
}

/** The brands of HEIF files whose pictures are compressed by HEVC. Source: ISO/IEC 23008-12, annex B. */
const HEVC_BRANDS = ["heic", "heix", "heim", "heis", "hevc", "hevx"];

/**
 * Refuses a HEIC picture by name: its compression is patented, and the image library comes without it.
 *
 * @throws VdError `unsupported` with what to do
 */
export function refuseHeic(bytes: Uint8Array, where: string): void {
  if (latin(bytes, 4, 8) !== "ftyp") return;
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
  const brands = latin(bytes, 8, Math.min(length, 64)).match(/.{4}/gs) ?? [];
  if (!brands.some((brand) => HEVC_BRANDS.includes(brand))) return;
  throw new VdError({
    code: "unsupported",
    where,
    expected: "a picture in a format without HEVC",
    got: "a HEIC picture, as iPhones take them",
    hint:
      "Save it as JPEG: on a Mac by Preview > Export, elsewhere by `heif-convert PICTURE.heic PICTURE.jpg`; " +
      "iPhones take JPEG with Settings > Camera > Formats > Most Compatible.",
  });
}

/** Brands of ISO files that hold a picture, AVIF's. Source: AV1 Image File Format, section 6. */
const PICTURE_BRANDS = /avif|avis|mif1|miaf/;

/** Returns what a file is that is no picture, in words for a message, and what to do with it; undefined for what has no name here. */
export function otherKind(bytes: Uint8Array): { got: string; hint: string } | undefined {
  const start = latin(bytes, 0, 16);
  const isIso = start.slice(4, 8) === "ftyp" && !PICTURE_BRANDS.test(latin(bytes, 8, 64));
  // EBML, the frame of Matroska and WebM.
  if (isIso || start.startsWith("\x1aE\xdf\xa3") || /^RIFF....AVI /s.test(start))
    return { got: "a video", hint: "Save one of its frames as PNG first." };
  if (start.startsWith("%PDF")) return { got: "a PDF", hint: "Export the page as PNG first." };
  if (start.startsWith("\xff\x0a") || start.startsWith("\0\0\0\x0cJXL "))
    return { got: "a JPEG XL picture", hint: "Save it as PNG or JPEG first." };
  return undefined;
}
