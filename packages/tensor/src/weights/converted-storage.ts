import { allocateBuffer, type DeviceBuffer } from "@vd/kernels-native";
import { makeStorage } from "../graph";
import type { Storage } from "../tensor";
import { requireArray } from "../typed-arrays";

/** Where stored elements lie, and what they are as float32. */
export interface StoredElements {
  readonly buffer: DeviceBuffer;
  readonly byteOffset: number;
  readonly bytes: number;
  /** Decodes all of them; `bytes` starts its own buffer. */
  decode(bytes: Uint8Array): Float32Array;
}

/** A float32 copy of elements of another type, made when it is first needed. */
export class ConvertedStorage implements Storage {
  readonly kind = "weights";
  readonly id: number;
  readonly bytes: number;
  private buffer: DeviceBuffer | undefined;

  constructor(
    readonly name: string,
    count: number,
    private readonly stored: StoredElements,
  ) {
    this.bytes = count * Float32Array.BYTES_PER_ELEMENT;
    this.id = makeStorage("weights", this.bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    if (!this.buffer) {
      const { buffer, byteOffset, bytes } = this.stored;
      const whole = allocateBuffer(this.bytes);
      whole.writeSync(this.stored.decode(buffer.readSync(new Uint8Array(bytes), byteOffset)));
      this.buffer = whole;
    }
    return { buffer: this.buffer, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    if (this.buffer) return;
    const { buffer, byteOffset, bytes } = this.stored;
    const whole = allocateBuffer(this.bytes);
    await whole.write(this.stored.decode(await buffer.readBytes(byteOffset, bytes)));
    this.buffer ??= whole;
  }
}

/** float64 elements rounded to float32. */
export function decodeFloat64(bytes: Uint8Array): Float32Array {
  requireArray("decodeFloat64", bytes, "Uint8Array");
  const { buffer, byteOffset, byteLength } = bytes;
  return Float32Array.from(new Float64Array(buffer, byteOffset, byteLength / Float64Array.BYTES_PER_ELEMENT));
}
