/** How the picture of a message is stored: RGB or RGBA with 8 bits a channel, rows from the top, or a JPEG file. */
export const PICTURE_FORMATS = ["rgb", "rgba", "jpeg"] as const;

/** One of {@link PICTURE_FORMATS}. */
export type PictureFormat = (typeof PICTURE_FORMATS)[number];

/** A picture on its way between server and page. */
export interface PictureMessage {
  format: PictureFormat;
  width: number;
  height: number;
  data: Uint8Array;
}

/** A frame on its way to a page: its picture, and what the page shows of it. */
export interface FrameMessage extends PictureMessage {
  /** Number of the frame in the session. */
  index: number;
  /** Number of the action that it was made with. */
  action: number;
  /** Calls of the network that it took. */
  steps: number;
  repeated: boolean;
  late: boolean;
  cached: boolean;
  /** The newest key press of this page that the frame has taken in, as the page numbered it; 0 before the first. */
  input: number;
  /** From the edge at which actions were taken to the finished picture, in milliseconds. */
  latencyMs: number;
}

/** Bytes before the picture in either direction. */
export const HEADER_BYTES = 24;

const VERSION = 1;
const FLAGS = { repeated: 1, late: 2, cached: 4 } as const;
/** Places of the header, little-endian: version, format, flags, steps, width (16 bits), height (16), index (32), input (32), latency
 *  (float32), action. */
const AT = {
  version: 0,
  format: 1,
  flags: 2,
  steps: 3,
  width: 4,
  height: 6,
  index: 8,
  input: 12,
  latency: 16,
  action: 20,
};

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function messageOf({ format, width, height, data }: PictureMessage): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + data.length);
  const view = viewOf(bytes);
  view.setUint8(AT.version, VERSION);
  view.setUint8(AT.format, PICTURE_FORMATS.indexOf(format));
  view.setUint16(AT.width, width, true);
  view.setUint16(AT.height, height, true);
  bytes.set(data, HEADER_BYTES);
  return bytes;
}

/** Encodes a picture without a frame's facts, such as a camera's. */
export const encodePicture = (picture: PictureMessage): Uint8Array => messageOf(picture);

/** Encodes a frame as one binary message. */
export function encodeFrame(frame: FrameMessage): Uint8Array {
  const bytes = messageOf(frame);
  const view = viewOf(bytes);
  const flags =
    (frame.repeated ? FLAGS.repeated : 0) | (frame.late ? FLAGS.late : 0) | (frame.cached ? FLAGS.cached : 0);
  view.setUint8(AT.flags, flags);
  view.setUint8(AT.steps, frame.steps);
  view.setUint32(AT.index, frame.index, true);
  view.setUint32(AT.input, frame.input, true);
  view.setFloat32(AT.latency, frame.latencyMs, true);
  view.setUint8(AT.action, frame.action);
  return bytes;
}

/** Decodes a picture; undefined for bytes that are none: another version, an unknown format, raw pixels of another length than the sides say. */
export function decodePicture(bytes: Uint8Array): PictureMessage | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const view = viewOf(bytes);
  const format = PICTURE_FORMATS[view.getUint8(AT.format)];
  if (view.getUint8(AT.version) !== VERSION || format === undefined) return undefined;
  const [width, height] = [view.getUint16(AT.width, true), view.getUint16(AT.height, true)];
  const data = bytes.subarray(HEADER_BYTES);
  const channels = { rgb: 3, rgba: 4, jpeg: undefined }[format];
  if (width === 0 || height === 0 || (channels !== undefined && data.length !== width * height * channels))
    return undefined;
  return { format, width, height, data };
}

/** Decodes a frame; undefined for bytes that are none. */
export function decodeFrame(bytes: Uint8Array): FrameMessage | undefined {
  const picture = decodePicture(bytes);
  if (picture === undefined) return undefined;
  const view = viewOf(bytes);
  const flags = view.getUint8(AT.flags);
  return {
    ...picture,
    index: view.getUint32(AT.index, true),
    action: view.getUint8(AT.action),
    steps: view.getUint8(AT.steps),
    repeated: (flags & FLAGS.repeated) !== 0,
    late: (flags & FLAGS.late) !== 0,
    cached: (flags & FLAGS.cached) !== 0,
    input: view.getUint32(AT.input, true),
    latencyMs: view.getFloat32(AT.latency, true),
  };
}
