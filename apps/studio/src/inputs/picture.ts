import { isVdError } from "@vd/kernels-native";
import { loadImage, loadSharp, MAX_PICTURE_PIXELS } from "@vd/media";
import { mayAccess } from "../http/access";
import { Problem } from "../http/problem";
import type { Studio } from "../http/studio";
import type { KeyRecord } from "../keys/key-store";
import type { PictureInfo } from "../videos/record";
import { VARIANT_FILES } from "../videos/variants";
import { isVideoId } from "../videos/video-id";
import type { RequestFields } from "./request-fields";
import { safeFetch } from "./safe-fetch";

/** A picture that a client gave. */
export interface GivenPicture {
  bytes: Uint8Array;
  info: PictureInfo;
  /** The video that it is the last frame of. */
  source: string | null;
}

const MEDIA_TYPES: Readonly<Record<string, string>> = { svg: "image/svg+xml", heif: "image/avif" };

/** Reads a picture's size from its header, without decoding it where that will do. @throws VdError where it is none */
async function infoOf(bytes: Uint8Array): Promise<PictureInfo> {
  const sharp = await loadSharp();
  try {
    const { autoOrient, format } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return { ...autoOrient, mediaType: MEDIA_TYPES[format] ?? `image/${format}` };
  } catch {
    // BMP, ICO and PPM, which the library does not know, and whatever is no picture at all.
    const { width, height } = await loadImage(bytes);
    return { width, height, mediaType: "application/octet-stream" };
  }
}

async function checked(bytes: Uint8Array, source: string | null = null): Promise<GivenPicture> {
  if (bytes.length === 0) throw new Problem(422, "image_empty", "The picture is empty.", "image");
  try {
    const info = await infoOf(bytes);
    if (info.width * info.height > MAX_PICTURE_PIXELS)
      throw new Problem(
        413,
        "image_too_large",
        `The picture has ${info.width}×${info.height} pixels; at most ${MAX_PICTURE_PIXELS} are taken.`,
        "image",
      );
    return { bytes, info, source };
  } catch (error) {
    throw isVdError(error) ? new Problem(422, "image_unreadable", error.message, "image") : error;
  }
}

/** How nearly all `data:` addresses begin; the rest of such a one is plain base64. */
const BASE64 = /^data:[\w.+-]+\/[\w.+-]+;base64,(?=[\w+/]*=*$)/i;

/** The bytes of a `data:` address: what is not the plain form is read by Node's own fetch, without a network, which takes its time. */
async function dataBytes(address: string): Promise<Uint8Array> {
  const head = BASE64.exec(address)?.[0];
  if (head !== undefined) return Buffer.from(address.slice(head.length), "base64");
  try {
    return new Uint8Array(await (await fetch(address)).arrayBuffer());
  } catch {
    throw new Problem(422, "image_unreadable", "This data: address is none.", "image");
  }
}

async function lastFrame(id: unknown, { queue, files }: Studio, caller: KeyRecord): Promise<Uint8Array> {
  const video = typeof id === "string" && isVideoId(id) ? await queue.get(id) : undefined;
  if (!video || !mayAccess(caller, video.owner))
    throw new Problem(404, "not_found", "There is no such video to go on from.", "image");
  const frame = await files.read(video.id, VARIANT_FILES["last-frame"].name);
  if (!frame) throw new Problem(409, "not_completed", "The video to go on from is not completed.", "image");
  return frame;
}

/** True for a field that says something: forms of pages send empty ones too. */
const isGiven = (value: unknown): value is object | string | number | boolean =>
  value !== undefined && value !== null && value !== "";

/**
 * Returns the picture of a request: a file, an address, or the last frame of a video; undefined where it has none.
 *
 * @throws Problem, FetchError
 */
export async function givenPicture(
  { fields, file }: RequestFields,
  studio: Studio,
  caller: KeyRecord,
): Promise<GivenPicture | undefined> {
  const { image, input_reference } = fields;
  if ([file, image, input_reference].filter(isGiven).length > 1)
    throw new Problem(400, "attr", "Expected one picture, as image or as input_reference, got several.", "image");
  if (file) return checked(file);
  const given = [image, input_reference].find(isGiven);
  if (!isGiven(given)) return undefined;
  if (typeof given === "object" && "video" in given)
    return checked(await lastFrame(given.video, studio, caller), String(given.video));
  const address = typeof given === "object" && "image_url" in given ? given.image_url : given;
  if (typeof address !== "string" || !/^(https?|data):/i.test(address)) {
    const expected = 'a file, an https: or data: address, or { "video": "video_…" }';
    throw new Problem(400, "attr", `Expected the picture as ${expected}.`, "image");
  }
  if (/^data:/i.test(address)) return checked(await dataBytes(address));
  return checked((await safeFetch(address, studio.fetchRules)).bytes);
}
