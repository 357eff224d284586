import type { DType } from "../contract/dtype";
import type { FloatsRead, NativeBuffer, NativeCopy } from "./addon-types";
import { requireOptions } from "./arguments";
import { dtypeIndex } from "./checked-contract";
import { awaitNative, callNative, VdError } from "./errors";
import { loadAddon } from "./load";

/** A float tensor in a buffer. */
export interface FloatRegion {
  byteOffset?: number;
  dtype: DType;
  pixels: number;
  channels: number;
  pitch?: number;
  /** Reads every so many pixels as planes, one for each channel; default: pixel by pixel. */
  planePixels?: number | undefined;
}

/** Refuses what is no buffer, as a caller without types may have given something else. @throws VdError `attr` */
function requireBuffer(where: string, value: unknown): void {
  if (value instanceof Object && "native" in value) return;
  throw new VdError({
    code: "attr",
    where,
    expected: "a buffer of allocateBuffer, mapFile, Device.allocate or Device.allocateHost",
    got: value === null ? "null" : typeof value,
  });
}

/** Bytes of one buffer that go to another, which may be another device's. */
export interface BufferCopy {
  target: DeviceBuffer;
  /** The byte of the target where they go. */
  to: number;
  source: DeviceBuffer;
  /** The byte of the source where they begin. */
  from: number;
  bytes: number;
}

/** A copy as the addon takes it. @throws VdError `attr` for what is no buffer */
export function nativeCopy({ target, source, ...range }: BufferCopy): NativeCopy {
  requireBuffer("run copies", target);
  requireBuffer("run copies", source);
  return { target: target.native, source: source.native, ...range };
}

/**
 * Memory that rows address. Bytes go in and out by copying, so that no view outlives it.
 *
 * @example
 * ```ts
 * import { allocateBuffer } from "@vd/kernels-native";
 *
 * const buffer = allocateBuffer(1024); // outside of JavaScript's heap
 * await buffer.write(Float32Array.of(1, 2, 3));
 * console.log(buffer.readSync(new Float32Array(3)));
 * await buffer.free();
 * ```
 */
export class DeviceBuffer {
  /** Use {@link allocateBuffer}, {@link mapFile} or `Device.allocate`. onHost: rows of any device can read it as a
   *  constant, those of the CPU can write it. */
  constructor(
    readonly native: NativeBuffer,
    readonly onHost = true,
  ) {}

  get bytes(): number {
    return callNative(() => this.native.bytes);
  }

  get writable(): boolean {
    return callNative(() => this.native.writable);
  }

  /**
   * Copies `source` to byte `offset`.
   *
   * @throws VdError `layout` outside the buffer or for read-only memory
   */
  writeSync(source: ArrayBufferView | ArrayBuffer, offset = 0): void {
    callNative(() => this.native.writeSync(source, offset));
  }

  /** Does what {@link writeSync} does, off the event loop. A view of shared memory is read in place and must not change before the promise
   *  settles; any other source is copied first and may change once the call has returned. */
  write(source: ArrayBufferView | ArrayBuffer, offset = 0): Promise<void> {
    return awaitNative(() => this.native.write(source, offset));
  }

  /**
   * Writes numbers from byte `offset` on as elements of a float type, rounded to nearest even, off the event loop. `source` as of
   * {@link write}.
   *
   * @throws VdError `layout` outside the buffer, `dtype` for other types
   */
  async writeFloats(source: Float32Array, dtype: DType, offset = 0): Promise<void> {
    await this.writeCheckedFloats(source, dtype, offset);
  }

  /**
   * Does what {@link writeFloats} does, and tells the largest magnitude of what was written, before it was rounded: NaN where one is.
   *
   * @throws VdError as {@link writeFloats}
   */
  writeCheckedFloats(source: Float32Array, dtype: DType, offset = 0): Promise<number> {
    return awaitNative(() => this.native.writeFloats(source, dtypeIndex(dtype), offset));
  }

  /**
   * Copies from byte `offset` until `target` is full, and returns it.
   *
   * @throws VdError `layout` outside the buffer
   */
  readSync<T extends ArrayBufferView | ArrayBuffer>(target: T, offset = 0): T {
    callNative(() => this.native.readSync(target, offset));
    return target;
  }

  /**
   * The floats of a tensor as float32, packed; reading and converting happen off the event loop. byteOffset: of its
   * first element; pitch: elements from one pixel to the next.
   *
   * @throws VdError `layout` outside the buffer
   */
  async readFloats(region: FloatRegion): Promise<Float32Array> {
    return (await this.readCheckedFloats(region)).values;
  }

  /**
   * Does what {@link readFloats} does, and tells the index of the first value that is not finite. into: what to fill and give instead of a new array;
   * one of `allocateFloats` or `sharedFloats`, or a part of it, is filled in place, any other one once everything is read. After an
   * error it holds anything.
   *
   * @throws VdError `layout` outside the buffer, or where the memory of `into` was taken away meanwhile; `shape` for an array of another length
   */
  async readCheckedFloats(region: FloatRegion, into?: Float32Array): Promise<FloatsRead> {
    requireOptions("readFloats", region);
    const { byteOffset = 0, dtype, pixels, channels, pitch = channels, planePixels = 0 } = region;
    const type = dtypeIndex(dtype);
    return awaitNative(() => this.native.readFloats(byteOffset, type, pixels, channels, pitch, planePixels, into));
  }

  /**
   * `bytes` bytes from byte `offset` on, read off the event loop. into: what to fill and give instead of a new array, as of
   * {@link readCheckedFloats}; one over the memory of `allocateFloats` is filled in place.
   *
   * @throws VdError `layout` outside the buffer, or where the memory of `into` was taken away meanwhile; `shape` for an array of another length
   */
  readBytes(offset: number, bytes: number, into?: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    return awaitNative(() => this.native.readBytes(offset, bytes, into));
  }

  /**
   * Copies `bytes` bytes of `source` from its byte `from` to byte `to` of this one.
   *
   * @throws VdError `layout` outside either buffer or for read-only memory, `attr` for a source that is no buffer
   */
  copyFromSync(source: DeviceBuffer, from: number, to: number, bytes: number): void {
    requireBuffer("copyFromSync source", source);
    callNative(() => this.native.copyFromSync(source.native, from, to, bytes));
  }

  /** Does what {@link copyFromSync} does, off the event loop. */
  async copyFrom(source: DeviceBuffer, from: number, to: number, bytes: number): Promise<void> {
    requireBuffer("copyFrom source", source);
    return awaitNative(() => this.native.copyFrom(source.native, from, to, bytes));
  }

  /** Sets every byte. */
  fillSync(byte: number): void {
    callNative(() => this.native.fillSync(byte));
  }

  /** Lets go of the memory; programs that use it keep it alive. Later calls throw. */
  freeSync(): void {
    callNative(() => this.native.freeSync());
  }

  /** Does what {@link freeSync} does, off the event loop: gigabytes of a GPU's memory take long. */
  free(): Promise<void> {
    return awaitNative(() => this.native.free());
  }
}

/**
 * Zeroed memory of `bytes` bytes; pages cost nothing until they are touched.
 *
 * @throws VdError `memory`
 */
export function allocateBuffer(bytes: number): DeviceBuffer {
  return new DeviceBuffer(callNative(() => loadAddon().allocateBuffer(bytes)));
}

/**
 * A read-only view of a file's bytes, shared with the page cache.
 *
 * @throws VdError `io`
 * @example
 * ```ts
 * import { mapFile } from "@vd/kernels-native";
 *
 * const weights = mapFile("models/tiny-svd/vae/diffusion_pytorch_model.safetensors");
 * console.log(weights.bytes, weights.writable); // …, false
 * ```
 */
export function mapFile(path: string): DeviceBuffer {
  return new DeviceBuffer(callNative(() => loadAddon().mapFile(path)));
}
