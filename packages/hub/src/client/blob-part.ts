import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { RemoteFile } from "./client";
import { TransientFailure } from "./failures";

/** The received part of a blob: a file and the checksum of what is in it. */
export class BlobPart {
  /** ETag of the answer that the last bytes came from. */
  entityTag: string | undefined;
  receivedBytes = 0;
  /** True unless the whole content is from one answer of this run: then some piece of it may be at fault. */
  isPatched = false;
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #file: RemoteFile;
  #hash: Hash;
  #hexDigest: string | undefined;

  private constructor(path: string, handle: FileHandle, file: RemoteFile) {
    this.#path = path;
    this.#handle = handle;
    this.#file = file;
    this.#hash = newHash(file);
  }

  /** Opens the file of a part and creates it if it is not there. */
  static async open(path: string, file: RemoteFile): Promise<BlobPart> {
    // "a+" makes the file and keeps its content; positions are given by truncating and appending only.
    return new BlobPart(path, await open(path, "a+"), file);
  }

  /** Reads what is there already. */
  async takeExisting(checkCancelled: () => void): Promise<void> {
    const existingBytes = (await this.#handle.stat()).size;
    if (existingBytes > this.#file.sizeBytes) await this.restart();
    else if (existingBytes > 0) {
      for await (const chunk of createReadStream(this.#path, { end: existingBytes - 1, highWaterMark: 1 << 20 })) {
        checkCancelled();
        this.#hash.update(chunk);
      }
      this.receivedBytes = existingBytes;
      this.isPatched = true;
    }
  }

  /** Adds bytes at the end. */
  async append(chunk: Uint8Array): Promise<void> {
    await this.#handle.appendFile(chunk);
    this.#hash.update(chunk);
    this.receivedBytes += chunk.byteLength;
  }

  /** Drops everything received. */
  async restart(): Promise<void> {
    await this.#handle.truncate(0);
    this.#hash = newHash(this.#file);
    this.#hexDigest = undefined;
    this.entityTag = undefined;
    this.receivedBytes = 0;
    this.isPatched = false;
  }

  /** True if as many bytes are here as the file has. */
  isFull(): boolean {
    return this.receivedBytes === this.#file.sizeBytes;
  }

  /** The checksum of the whole; the file must be full. */
  hexDigest(): string {
    this.#hexDigest ??= this.#hash.digest("hex");
    return this.#hexDigest;
  }

  /** True if the content is the file's. */
  isRight(): boolean {
    return this.isFull() && this.hexDigest() === this.#file.digest;
  }

  /**
   * Brings the content to the disk, so that a power failure cannot leave a blob that only looks complete.
   *
   * @throws {@link TransientFailure} if another program, which does not know this program's locks, has appended to the
   *   file too
   */
  async flush(): Promise<void> {
    if ((await this.#handle.stat()).size !== this.#file.sizeBytes) {
      await this.restart();
      throw new TransientFailure("another program wrote to the same file");
    }
    await this.#handle.datasync();
  }

  /** Closes the file; it stays on the disk. */
  async close(): Promise<void> {
    await this.#handle.close();
  }
}

function newHash({ digest, sizeBytes }: RemoteFile): Hash {
  if (digest.length === 64) return createHash("sha256");
  // git hashes a header with the size before the content.
  return createHash("sha1").update(`blob ${sizeBytes}\0`);
}
