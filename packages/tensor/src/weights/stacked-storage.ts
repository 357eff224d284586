import { allocateBuffer, type DeviceBuffer } from "@vd/kernels-native";
import { makeStorage } from "../graph";
import type { Storage, Tensor } from "../tensor";

/** Copies of tensors one behind the other, made part by part when they are first needed: a model's hundreds of megabytes
 *  of them would stop the event loop for a while. */
export class StackedStorage implements Storage {
  readonly kind = "weights";
  readonly id: number;
  readonly bytes: number;
  private buffer: DeviceBuffer | undefined;
  private numFilled = 0;

  /** parts: packed tensors of `partBytes` each, in memory that is there. */
  constructor(
    readonly name: string,
    private readonly parts: readonly Tensor[],
    private readonly partBytes: number,
  ) {
    this.bytes = partBytes * parts.length;
    this.id = makeStorage("weights", this.bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    while (this.fill());
    return { buffer: this.buffer!, byteOffset: 0 };
  }

  fill(): boolean {
    this.buffer ??= allocateBuffer(this.bytes);
    const part = this.parts[this.numFilled];
    if (part) {
      const { buffer, byteOffset } = part.storage.place!;
      this.buffer.copyFrom(buffer, byteOffset + part.byteOffset, this.numFilled * this.partBytes, this.partBytes);
      this.numFilled++;
    }
    return this.numFilled < this.parts.length;
  }
}
