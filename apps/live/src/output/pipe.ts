import { once } from "node:events";
import type { Writable } from "node:stream";
import type { LiveFrame } from "@vd/live";
import { rgbToI420 } from "@vd/media";
import { runInSlices } from "@vd/tensor";
import type { PipeFormat } from "./pipe-format";

/** What a pipe carries. */
export interface PipeOptions {
  format: PipeFormat;
  width: number;
  height: number;
  fps: number;
}

/** Frames a second as a fraction: 25 is 25:1, 29.97 is 2997:100. */
function ratio(fps: number): string {
  const denominator = Number.isInteger(fps) ? 1 : 1000;
  return `${Math.round(fps * denominator)}:${denominator}`;
}

/** The first line of a y4m stream; chroma in the middle of 2 x 2 pixels. Source: https://wiki.multimedia.cx/index.php/YUV4MPEG2 */
const y4mHeader = ({ width, height, fps }: PipeOptions) =>
  `YUV4MPEG2 W${width} H${height} F${ratio(fps)} Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n`;

/** Writes frames to a stream, as fast as it takes them. */
export class Pipe {
  private isStarted = false;
  /** True after the reader has gone, as `head` does, or where the stream takes no more; whether that is a failure says who watches the stream. */
  isClosed = false;

  constructor(
    private readonly stream: Writable,
    private readonly options: PipeOptions,
  ) {
    stream.on("error", () => {
      this.isClosed = true;
    });
    stream.on("close", () => {
      this.isClosed = true;
    });
  }

  /** Writes a frame; settles when the reader has room for another one. */
  async add({ data }: LiveFrame): Promise<void> {
    const { format, width, height } = this.options;
    if (format === "rgb") return this.write(data.slice());
    if (!this.isStarted) await this.write(Buffer.from(y4mHeader(this.options)));
    this.isStarted = true;
    const planes = await runInSlices(rgbToI420.inPieces(data, width, height));
    await this.write(Buffer.concat([Buffer.from("FRAME\n"), planes]));
  }

  private async write(bytes: Uint8Array): Promise<void> {
    if (this.isClosed || this.isTaken(bytes)) return;
    const ended = new AbortController();
    const { signal } = ended;
    // A pipe that breaks never drains.
    await Promise.race(["drain", "close", "error"].map((name) => once(this.stream, name, { signal }))).catch(() => {});
    ended.abort();
  }

  /** Hands bytes to the stream. Returns true where there is room for more, or will never be. */
  private isTaken(bytes: Uint8Array): boolean {
    try {
      return this.stream.write(bytes);
    } catch (error) {
      // Files that are full throw in some versions of Node.js; whoever watches the stream tells of it as of any other error.
      this.stream.emit("error", error);
      return true;
    }
  }
}
