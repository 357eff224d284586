import { readFile, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import { fileURLToPath } from "node:url";
import { VdError } from "@vd/kernels-native";
import type { RgbImage } from "./rgb-image";

/** What an object of the library sharp has that is used here, of whatever version. */
export interface SharpLike {
  metadata(): Promise<unknown>;
  png(): { toBuffer(): Promise<Uint8Array> };
}

/**
 * Where a picture comes from: a path, an `http:`, `https:`, `file:` or `data:` address as text or URL, a file's bytes (Buffer,
 * Uint8Array, ArrayBuffer, Blob, File), a stream of bytes, an object of the library sharp, or pixels.
 */
export type PictureSource =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | AsyncIterable<Uint8Array>
  | SharpLike
  | RgbImage;

/** What a picture file is, for errors. */
export const WANTED_PICTURE = "a picture (PNG, JPEG, WebP, AVIF, GIF, TIFF, SVG, BMP, ICO or PPM)";

/** No sensible picture file is larger; a film or a checkpoint passed by mistake is. */
const MAX_FILE_BYTES = 512 * 2 ** 20;
/** How long a server may take until it has sent everything. */
const FETCH_TIMEOUT_MS = 60_000;

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "a path that leads through a file",
  EISDIR: "a folder",
  EACCES: "a file that may not be read (permission denied)",
};

/** The bytes of a picture file and what errors about them call it. */
export interface PictureBytes {
  bytes: Uint8Array;
  where: string;
}

const failed = (where: string, got: string, hint?: string, cause?: unknown) =>
  new VdError({ code: "io", where, expected: WANTED_PICTURE, got, hint, cause });

const tooLarge = (where: string, bytes: number) => failed(where, `a file of ${Math.round(bytes / 2 ** 20)} MiB`);

async function readPictureFile(path: string): Promise<Uint8Array> {
  try {
    // Looked at before it is opened: opening a pipe would wait for its writer.
    const stats = await stat(path);
    if (stats.isDirectory()) throw failed(path, "a folder", "Pass one picture file.");
    if (!stats.isFile()) throw failed(path, "a device or pipe");
    if (stats.size > MAX_FILE_BYTES) throw tooLarge(path, stats.size);
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof VdError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    const hint = code === "ENOENT" ? "Check the path." : undefined;
    throw failed(path, READ_FAILURES[code ?? ""] ?? message, hint, cause);
  }
}

/** Collects a stream's bytes, up to the limit of a file. */
async function collected(parts: AsyncIterable<unknown>, where: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let numBytes = 0;
  for await (const part of parts) {
    if (!(part instanceof Uint8Array)) throw failed(where, `a stream of ${part === null ? "null" : typeof part}s`);
    numBytes += part.length;
    if (numBytes > MAX_FILE_BYTES) throw tooLarge(where, numBytes);
    chunks.push(part);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** What a failed fetch tells: its cause where it has one, which names the host. */
function fetchFailure(cause: unknown): string {
  const error = cause as Error & { cause?: Error };
  if (error.name === "TimeoutError") return `a server that took more than ${FETCH_TIMEOUT_MS / 1000} s`;
  return `a server that does not answer (${error.cause?.message ?? error.message})`;
}

async function fetchPicture(address: URL): Promise<Uint8Array> {
  const where = address.href;
  let response: Response;
  try {
    response = await fetch(address, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  } catch (cause) {
    throw failed(where, fetchFailure(cause), "Check the address and the network, or download the picture.", cause);
  }
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw failed(where, `the answer ${response.status} ${response.statusText}`.trim(), "Check the address.");
  }
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > MAX_FILE_BYTES) {
    await response.body.cancel();
    throw tooLarge(where, announced);
  }
  try {
    return await collected(Readable.fromWeb(response.body as WebStream), where);
  } catch (cause) {
    throw cause instanceof VdError ? cause : failed(where, fetchFailure(cause), undefined, cause);
  }
}

function decodeDataUrl(text: string): Uint8Array {
  const [, isBase64, content] = /^data:[^,]*?(;base64)?,(.*)$/is.exec(text) ?? [];
  const where = "data: address";
  if (content === undefined) throw failed(where, "one without a comma before its data");
  if (isBase64) return Buffer.from(content, "base64");
  // Each escape is a byte; decodeURIComponent would take them for UTF-8.
  const bytes = content.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1");
}

/** A path or an address as text; `C:\…` is a path. */
async function readText(text: string): Promise<PictureBytes> {
  if (/^data:/i.test(text)) return { bytes: decodeDataUrl(text), where: "data: address" };
  if (/^https?:\/\//i.test(text)) return readAddress(toUrl(text));
  if (/^file:\/\//i.test(text)) return readAddress(toUrl(text));
  return { bytes: await readPictureFile(text), where: text };
}

function toUrl(text: string): URL {
  if (!URL.canParse(text)) throw failed(text, "an address that is none");
  return new URL(text);
}

async function readAddress(address: URL): Promise<PictureBytes> {
  const { protocol, href } = address;
  if (protocol === "data:") return readText(href);
  if (protocol === "http:" || protocol === "https:") return { bytes: await fetchPicture(address), where: href };
  if (protocol !== "file:") {
    throw failed(href, `an address of the kind ${protocol}`, "Use https:, http:, file: or data:.");
  }
  let path: string;
  try {
    path = fileURLToPath(address);
  } catch (cause) {
    throw failed(href, (cause as Error).message, undefined, cause);
  }
  return { bytes: await readPictureFile(path), where: path };
}

const isSharp = (source: object): source is SharpLike =>
  "metadata" in source && typeof source.metadata === "function" && "png" in source && typeof source.png === "function";

/**
 * Returns the bytes of the picture file that a source stands for; undefined for anything that is no source of bytes. Follows
 * redirects; reads 512 MiB at most, for a minute at most.
 *
 * @throws VdError `io` for what cannot be read
 */
export async function readPicture(source: Exclude<PictureSource, RgbImage>): Promise<PictureBytes | undefined> {
  if (typeof source === "string") return readText(source);
  if (source instanceof URL) return readAddress(source);
  if (source instanceof Uint8Array) return { bytes: source, where: "image bytes" };
  if (source instanceof ArrayBuffer) return { bytes: new Uint8Array(source), where: "image bytes" };
  if (source instanceof Blob) {
    if (source.size > MAX_FILE_BYTES) throw tooLarge("image blob", source.size);
    return { bytes: new Uint8Array(await source.arrayBuffer()), where: "image blob" };
  }
  if (typeof source !== "object" || source === null) return undefined;
  // Before streams: an object of sharp is a stream too, whose bytes are in whatever format it was told.
  if (isSharp(source)) {
    try {
      return { bytes: await source.png().toBuffer(), where: "sharp" };
    } catch (cause) {
      throw failed("sharp", (cause as Error).message, undefined, cause);
    }
  }
  if (!(Symbol.asyncIterator in source)) return undefined;
  try {
    return { bytes: await collected(source, "image stream"), where: "image stream" };
  } catch (cause) {
    throw cause instanceof VdError ? cause : failed("image stream", (cause as Error).message, undefined, cause);
  }
}
