import { ascii, findBox, joinBytes, makeBox, makeFullBox, u16, u32 } from "./mp4-boxes";

/** An H.264 track: its decoder set-up and its frames, each a run of length-prefixed NAL units. */
export interface H264Track {
  width: number;
  height: number;
  /** Whole frames per second. */
  fps: number;
  /** Body of the avcC box. */
  decoderConfig: Uint8Array;
  frames: readonly Uint8Array[];
}

/** Ticks of the clock per frame; the track's clock then runs at `fps` times as many, so every frame lasts the same. */
const TICKS_PER_FRAME = 512;

const NAL_KEY_FRAME = 5;

/** 1, 0, 0; 0, 1, 0; 0, 0, 1 in the fixed-point form of mvhd and tkhd. */
const IDENTITY_MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

/**
 * Takes the H.264 track out of an MP4 file that holds nothing else.
 * @throws RangeError when a box is missing or sizes do not add up.
 */
export function readH264Track(file: Uint8Array, size: { width: number; height: number; fps: number }): H264Track {
  const table = ["moov", "trak", "mdia", "minf", "stbl"];
  const config = findBox(file, [...table, "stsd", "avc1", "avcC"]);
  const sizes = findBox(file, [...table, "stsz"]);
  const media = findBox(file, ["mdat"]);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const fixedSize = view.getUint32(sizes.bodyStart + 4);
  const numFrames = view.getUint32(sizes.bodyStart + 8);
  const frames: Uint8Array[] = [];
  let at = media.bodyStart;
  for (let i = 0; i < numFrames; i++) {
    const frameBytes = fixedSize || view.getUint32(sizes.bodyStart + 12 + 4 * i);
    frames.push(file.subarray(at, at + frameBytes));
    at += frameBytes;
  }
  // With one track and nothing else in it, the media box is exactly its frames.
  if (at !== media.end) throw new RangeError(`frames end at ${at}, the media box at ${media.end}`);
  return { ...size, decoderConfig: file.slice(config.bodyStart, config.end), frames };
}

/**
 * Writes an MP4 file: the index first, so that it plays while it loads; BT.709 colour tags; key frames marked; no dates,
 * so that the same frames give the same bytes. Source: ISO/IEC 14496-12 and -15.
 */
export function makeMp4(track: H264Track): Uint8Array {
  const fileType = makeBox("ftyp", ascii("isom"), u32(512), ascii("isomiso2avc1mp41"));
  const mediaHeaderBytes = 8;
  const indexBytes = makeIndex(track, 0).length;
  const index = makeIndex(track, fileType.length + indexBytes + mediaHeaderBytes);
  const media = makeBox("mdat", ...track.frames);
  return joinBytes(fileType, index, media);
}

function makeIndex(track: H264Track, firstFrameOffset: number): Uint8Array {
  const duration = track.frames.length * TICKS_PER_FRAME;
  const timescale = track.fps * TICKS_PER_FRAME;
  const nextTrackId = 2;
  const movieHeader = makeFullBox(
    "mvhd",
    0,
    u32(0, 0, timescale, duration, 0x10000),
    u16(0x100, 0),
    u32(0, 0),
    IDENTITY_MATRIX,
    u32(0, 0, 0, 0, 0, 0, nextTrackId),
  );
  const enabledInMovie = 3;
  const trackHeader = makeFullBox(
    "tkhd",
    enabledInMovie,
    u32(0, 0, 1, 0, duration, 0, 0),
    u16(0, 0, 0, 0),
    IDENTITY_MATRIX,
    u32(track.width * 0x10000, track.height * 0x10000),
  );
  const undefinedLanguage = 0x55c4;
  const mediaHeader = makeFullBox("mdhd", 0, u32(0, 0, timescale, duration), u16(undefinedLanguage, 0));
  const handler = makeFullBox("hdlr", 0, u32(0), ascii("vide"), u32(0, 0, 0), ascii("VideoHandler\0"));
  const sameFile = makeFullBox("dref", 0, u32(1), makeFullBox("url ", 1));
  const information = makeBox(
    "minf",
    makeFullBox("vmhd", 1, u16(0, 0, 0, 0)),
    makeBox("dinf", sameFile),
    makeSampleTable(track, firstFrameOffset),
  );
  return makeBox("moov", movieHeader, makeBox("trak", trackHeader, makeBox("mdia", mediaHeader, handler, information)));
}

function makeSampleTable({ width, height, decoderConfig, frames }: H264Track, firstFrameOffset: number): Uint8Array {
  const dotsPerInch = 72 * 0x10000;
  const bt709 = u16(1, 1, 1);
  const limitedRange = Uint8Array.of(0);
  const description = makeBox(
    "avc1",
    u16(0, 0, 0, 1, 0, 0),
    u32(0, 0, 0),
    u16(width, height),
    u32(dotsPerInch, dotsPerInch, 0),
    u16(1),
    new Uint8Array(32),
    u16(24, 0xffff),
    makeBox("avcC", decoderConfig),
    makeBox("colr", ascii("nclx"), bt709, limitedRange),
  );
  const keyFrames = frames.flatMap((frame, i) => (isKeyFrame(frame) ? [i + 1] : []));
  return makeBox(
    "stbl",
    makeFullBox("stsd", 0, u32(1), description),
    makeFullBox("stts", 0, u32(1, frames.length, TICKS_PER_FRAME)),
    makeFullBox("stss", 0, u32(keyFrames.length, ...keyFrames)),
    makeFullBox("stsc", 0, u32(1, 1, frames.length, 1)),
    makeFullBox("stsz", 0, u32(0, frames.length, ...frames.map((frame) => frame.length))),
    makeFullBox("stco", 0, u32(1, firstFrameOffset)),
  );
}

/** A frame is a key frame if any of its NAL units is a slice of one. Source: ITU-T H.264, table 7-1. */
function isKeyFrame(frame: Uint8Array): boolean {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  for (let at = 0; at + 4 < frame.length; at += 4 + view.getUint32(at)) {
    if ((frame[at + 4]! & 0x1f) === NAL_KEY_FRAME) return true;
  }
  return false;
}
