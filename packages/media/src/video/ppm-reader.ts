import { VdError } from "@vd/kernels-native";
import type { RgbImage } from "../pictures/rgb-image";

/** A picture's header: `P6`, width, height and the largest level, each followed by white space. */
const HEADER = /^P6\s+(\d+)\s+(\d+)\s+255\s/;
/** Headers are shorter than this. */
const MOST_HEADER_BYTES = 64;

/** Takes PPM pictures that follow each other out of a stream of bytes.
 *  Source: https://netpbm.sourceforge.net/doc/ppm.html. */
export class PpmReader {
  private rest: Uint8Array[] = [];
  private restBytes = 0;

  /** where: the file, for messages. */
  constructor(private readonly where: string) {}

  /** Returns the pictures that the bytes complete. @throws VdError `io` for bytes that are no such pictures */
  *take(bytes: Uint8Array): Generator<RgbImage> {
    this.rest.push(bytes);
    this.restBytes += bytes.length;
    for (let image = this.next(); image; image = this.next()) yield image;
  }

  /** Makes sure that nothing is left. @throws VdError `io` */
  end(): void {
    if (this.restBytes > 0) throw this.wrong("a picture that is cut off");
  }

  private next(): RgbImage | undefined {
    const start = Buffer.from(this.peek(MOST_HEADER_BYTES)).toString("latin1");
    const header = HEADER.exec(start);
    if (!header) {
      if (start.length === MOST_HEADER_BYTES || (start.length > 1 && !start.startsWith("P6")))
        throw this.wrong("other bytes");
      return undefined;
    }
    const [width, height] = [Number(header[1]), Number(header[2])];
    const length = header[0].length + 3 * width * height;
    if (this.restBytes < length) return undefined;
    const whole = this.rest.length === 1 ? this.rest[0]! : Buffer.concat(this.rest);
    // A copy: the bytes behind may belong to a large buffer.
    const data = Uint8Array.from(whole.subarray(header[0].length, length));
    this.rest = whole.length > length ? [whole.subarray(length)] : [];
    this.restBytes = whole.length - length;
    return { width, height, data };
  }

  private peek(count: number): Uint8Array {
    if ((this.rest[0]?.length ?? 0) < count && this.rest.length > 1) this.rest = [Buffer.concat(this.rest)];
    return this.rest[0]?.subarray(0, count) ?? new Uint8Array();
  }

  private wrong(got: string): VdError {
    return new VdError({ code: "io", where: this.where, expected: "frames as PPM pictures", got });
  }
}
