import { readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LiveFrame } from "@vd/live";
import {
  checkOutput,
  type OutputTarget,
  outputTarget,
  requireStorable,
  type WrittenVideo,
  writeVideo,
} from "@vd/media";
import { discard, fileError, temporaryName } from "@vd/tensor";

/** How a game is recorded. */
export interface RecorderOptions {
  path: string;
  width: number;
  height: number;
  fps: number;
}

const NAMES = { video: "--record", encoder: "--record" };
const CHANNELS = 3;

/** Keeps a game's frames in a temporary file and makes a video of them when it ends: encoders want to know how many there are. Ticks
 *  without a frame show the one before, so that the video runs as the game did. */
export class Recorder {
  private lastTick: number | undefined;
  private last: Uint8Array | undefined;
  /** Frames of the video so far. */
  numFrames = 0;

  private constructor(
    private readonly target: OutputTarget,
    private readonly options: RecorderOptions,
    private readonly spool: { path: string; file: FileHandle },
  ) {}

  /**
   * Makes sure that the video can be written, before the game begins.
   *
   * @throws VdError `attr`, `io` or `unsupported`, naming `--record`
   */
  static async open(options: RecorderOptions): Promise<Recorder> {
    const target = outputTarget(options.path, "--record");
    requireStorable(target, options);
    await checkOutput(target, { names: NAMES });
    const path = temporaryName(join(tmpdir(), "vd-live-frames"));
    const file = await open(path, "wx+").catch((error: unknown) => {
      throw fileError(path, "a temporary file that can be written", error, "--record");
    });
    // Without a name it ends with the process, whatever ends that: nobody else would clear gigabytes of frames away.
    if (process.platform !== "win32") discard(path);
    return new Recorder(target, options, { path, file });
  }

  /**
   * Adds a frame.
   *
   * @throws VdError `io` when the disk is full
   */
  async add(frame: LiveFrame): Promise<void> {
    // The clock of a game that begins anew begins anew too.
    const missed = this.lastTick === undefined ? 0 : Math.max(0, frame.tick - this.lastTick - 1);
    this.lastTick = frame.tick;
    for (let i = 0; i < missed; i++) await this.write(this.last!);
    this.last = frame.data.slice();
    await this.write(this.last);
  }

  /**
   * Writes the video. Returns what was written, or undefined where there was no frame.
   *
   * @throws VdError `io`
   */
  async finish(): Promise<WrittenVideo | undefined> {
    if (this.numFrames === 0) return undefined;
    const { width, height, fps } = this.options;
    const { numFrames } = this;
    const frame = (i: number) => this.read(i, 1);
    const spool = this;
    const video = {
      width,
      height,
      fps,
      numFrames,
      frame,
      get data() {
        return spool.read(0, numFrames);
      },
    };
    return writeVideo(this.target, video, { names: NAMES });
  }

  /** Lets go of the temporary file. */
  async close(): Promise<void> {
    await this.spool.file.close();
    discard(this.spool.path);
  }

  private get frameBytes(): number {
    return this.options.width * this.options.height * CHANNELS;
  }

  private async write(data: Uint8Array): Promise<void> {
    try {
      await this.spool.file.writeFile(data);
    } catch (error) {
      throw fileError(this.spool.path, "space for the frames until the end", error, "--record");
    }
    this.numFrames++;
  }

  private read(first: number, count: number): Uint8Array {
    const bytes = new Uint8Array(count * this.frameBytes);
    let at = 0;
    while (at < bytes.length) {
      const got = readSync(this.spool.file.fd, bytes, at, bytes.length - at, first * this.frameBytes + at);
      if (got === 0) throw fileError(this.spool.path, "the frames that were written", new Error("it is shorter"));
      at += got;
    }
    return bytes;
  }
}
