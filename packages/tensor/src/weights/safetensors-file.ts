import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { shown, VdError } from "@vd/kernels-native";
import { fileError } from "../files/file-error";
import { nearestNames } from "../nearest-names";
import { type Pausable, pausable } from "../pausable";
import { parseHeader, type SafetensorsEntry, type SafetensorsHeader, tensorPlace } from "./safetensors-header";
import { toFloat32, toFloat64 } from "./to-float";

/** The header's length stands in front of it as a 64-bit integer. */
const lengthBytes = 8;
/** The format's own limit. Source: huggingface/safetensors safetensors/src/tensor.rs `MAX_HEADER_SIZE`. */
const maxHeaderBytes = 100_000_000;
/** One read call takes less than 2 GiB. */
const maxReadBytes = 2 ** 30;

/** Bytes of a header that are read between two pauses. */
const maxPieceBytes = 2 ** 20;

const wanted = "a safetensors file";

function openRegularFile(path: string): number {
  try {
    // Looked at before it is opened: opening a pipe would wait for its writer.
    const stats = statSync(path);
    if (stats.isDirectory()) {
      const hint = "Pass the file itself, or open the folder as a checkpoint.";
      throw new VdError({ code: "io", where: path, expected: wanted, got: "a folder", hint });
    }
    if (!stats.isFile()) throw new VdError({ code: "io", where: path, expected: wanted, got: "a device or pipe" });
    return openSync(path, "r");
  } catch (error) {
    throw fileError(path, wanted, error);
  }
}

/** Exactly `length` bytes from `position`; throws `io` before it allocates if the file has become shorter. */
function readExactly(descriptor: number, path: string, position: number, length: number): Uint8Array {
  try {
    const { size } = fstatSync(descriptor);
    if (position + length > size) throw shrunk(path, position + length, size);
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const count = readSync(descriptor, bytes, done, Math.min(length - done, maxReadBytes), position + done);
      if (count === 0) throw shrunk(path, position + length, position + done);
      done += count;
    }
    return bytes;
  } catch (error) {
    if (error instanceof RangeError) {
      const got = "not enough memory";
      throw new VdError({ code: "memory", where: path, expected: `${length} bytes of memory`, got, cause: error });
    }
    throw fileError(path, `${length} bytes from byte ${position}`, error);
  }
}

/** Does what {@link readExactly} does, and pauses between pieces. */
function* readInPieces(descriptor: number, path: string, position: number, length: number): Pausable<Uint8Array> {
  if (length <= maxPieceBytes) {
    const whole = readExactly(descriptor, path, position, length);
    yield;
    return whole;
  }
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; done += maxPieceBytes) {
    bytes.set(readExactly(descriptor, path, position + done, Math.min(maxPieceBytes, length - done)), done);
    yield;
  }
  return bytes;
}

function shrunk(path: string, expectedBytes: number, gotBytes: number): VdError {
  const hint = "The file became shorter while it was open: download or copy it again.";
  return new VdError({ code: "io", where: path, expected: `${expectedBytes} bytes`, got: `${gotBytes} bytes`, hint });
}

/** What a file with these first bytes is, where people commonly mistake it for safetensors. */
function mistakenFor(head: Uint8Array): string | undefined {
  const text = Buffer.from(head).toString("latin1");
  if (text.startsWith("version ")) return "It looks like a Git LFS pointer: fetch the file itself (git lfs pull).";
  if (text.startsWith("PK") || text.startsWith("\x80")) return "It looks like a pickled checkpoint: convert it first.";
  if (text.startsWith("<")) return "It looks like a web page: download the file itself.";
  return undefined;
}

function* readHeader(descriptor: number, path: string, fileBytes: number): Pausable<SafetensorsHeader> {
  const broken = (expected: string, got: string, hint: string) =>
    new VdError({ code: "weights", where: path, expected, got, hint });
  if (fileBytes < lengthBytes) {
    throw broken(wanted, fileBytes === 0 ? "an empty file" : `${fileBytes} bytes`, "Download or export it again.");
  }
  const head = readExactly(descriptor, path, 0, lengthBytes);
  const headerBytes = new DataView(head.buffer).getBigUint64(0, true);
  const limit = Math.min(fileBytes - lengthBytes, maxHeaderBytes);
  if (headerBytes > BigInt(limit)) {
    const hint = mistakenFor(head) ?? "The file is cut off or not a safetensors file: download or export it again.";
    throw broken(`a header of at most ${limit} bytes`, `a header length of ${headerBytes}`, hint);
  }
  const bytes = yield* readInPieces(descriptor, path, lengthBytes, Number(headerBytes));
  return yield* parseHeader(bytes, { path, fileBytes, dataOffset: lengthBytes + bytes.length });
}

/**
 * A safetensors file, opened for reading: its header is read and checked at once, a tensor's data when it is asked for.
 * Nothing is allocated that is larger than the file itself, but for the conversions to float.
 * Source: https://github.com/huggingface/safetensors (format section of the README).
 *
 * @example
 * ```ts
 * import { SafetensorsFile } from "@vd/tensor";
 *
 * using file = SafetensorsFile.open("model.safetensors");
 * for (const [name, { dtype, shape }] of file.entries) console.log(name, dtype, shape);
 * ```
 */
export class SafetensorsFile implements Disposable {
  readonly path: string;
  readonly fileBytes: number;
  readonly entries: ReadonlyMap<string, SafetensorsEntry>;
  readonly metadata: Readonly<Record<string, string>>;
  #descriptor: number | undefined;

  private constructor(path: string, descriptor: number, fileBytes: number, header: SafetensorsHeader) {
    this.path = path;
    this.fileBytes = fileBytes;
    this.entries = header.entries;
    this.metadata = header.metadata;
    this.#descriptor = descriptor;
  }

  /**
   * Opens the file at `path`. Pauses while the header is checked.
   *
   * @throws VdError `io` where it cannot be read, `weights` where it is not a whole, valid file
   */
  static readonly open = pausable(function* (path: string): Pausable<SafetensorsFile> {
    const descriptor = openRegularFile(path);
    try {
      const fileBytes = fstatSync(descriptor).size;
      return new SafetensorsFile(path, descriptor, fileBytes, yield* readHeader(descriptor, path, fileBytes));
    } catch (error) {
      closeSync(descriptor);
      throw fileError(path, wanted, error);
    }
  });

  /**
   * The entry of tensor `name`.
   *
   * @throws VdError `weights` with the nearest names where the file has no such tensor
   */
  entry(name: string): SafetensorsEntry {
    const entry = this.entries.get(name);
    if (entry !== undefined) return entry;
    const near = nearestNames(name, this.entries.keys());
    const hint =
      near.length > 0 ? `Nearest names: ${near.map((other) => shown(other).slice(1, -1)).join(", ")}` : undefined;
    const got = `none by that name among ${this.entries.size}`;
    throw new VdError({ code: "weights", where: tensorPlace(this.path, name), expected: "a tensor", got, hint });
  }

  /**
   * A copy of the stored little-endian bytes of tensor `name`.
   *
   * @throws VdError `weights` if it is missing, `io` on failure
   */
  readBytes(name: string): Uint8Array {
    const { byteOffset, byteLength } = this.entry(name);
    if (this.#descriptor === undefined) {
      throw new VdError({ code: "io", where: this.path, expected: "an open file", got: "one that was closed" });
    }
    return readExactly(this.#descriptor, this.path, byteOffset, byteLength);
  }

  /**
   * Tensor `name`, of whatever stored type, rounded to float32; BOOL gives 0 and 1.
   *
   * @throws VdError as {@link readBytes}
   */
  readFloat32(name: string): Float32Array {
    return toFloat32(this.readBytes(name), this.entry(name).dtype);
  }

  /**
   * Tensor `name`, of whatever stored type, as float64; BOOL gives 0 and 1.
   *
   * @throws VdError as {@link readBytes}, and `dtype` for a 64-bit integer beyond ±2^53, which float64 cannot hold
   */
  readFloat64(name: string): Float64Array {
    return toFloat64(this.readBytes(name), this.entry(name).dtype, tensorPlace(this.path, name));
  }

  /** Closes the file; a second call does nothing. */
  close(): void {
    if (this.#descriptor === undefined) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
