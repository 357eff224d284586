import { Readable } from "node:stream";
import {
  checkOutput,
  encodeVideo,
  type FileFormat,
  outputTarget,
  type WriteOptions,
  type WrittenVideo,
  writeVideo,
} from "@vd/media";
import type { GeneratedVideo } from "../types";

/** How a video is made into a file's bytes. */
export type VideoEncodeOptions = Pick<WriteOptions, "signal" | "onFrame" | "comment">;

/** How a video is saved. */
export type VideoSaveOptions = Pick<
  WriteOptions,
  "signal" | "onFrame" | "comment" | "overwrite" | "encoder" | "ffmpeg"
>;

/** What a video can do as a file. */
export type VideoFiles = Pick<GeneratedVideo, "save" | "toBuffer" | "toStream">;

/** Bytes of a stream's pieces. */
const PIECE_BYTES = 64 * 1024;

/** Gives a video its ways to become a file. video: looked up when one of them is called. */
export function videoFiles(video: () => GeneratedVideo): VideoFiles {
  const toBuffer = async (format: FileFormat, options: VideoEncodeOptions = {}): Promise<Buffer> => {
    const bytes = await encodeVideo(format, framesOf(video()), options);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
  return {
    async save(path: string, options: VideoSaveOptions = {}): Promise<WrittenVideo> {
      const target = outputTarget(path);
      await checkOutput(target, options);
      return writeVideo(target, framesOf(video()), options);
    },
    toBuffer,
    toStream(format: FileFormat, options: VideoEncodeOptions = {}): Readable {
      return Readable.from(
        pieces(() => toBuffer(format, options)),
        { objectMode: false },
      );
    },
  };
}

/** The video, once it is known to have frames: with latents alone the first frame is an error that says so. */
function framesOf(video: GeneratedVideo): GeneratedVideo {
  video.frame(0);
  return video;
}

async function* pieces(encode: () => Promise<Buffer>): AsyncGenerator<Buffer> {
  const bytes = await encode();
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES);
}
