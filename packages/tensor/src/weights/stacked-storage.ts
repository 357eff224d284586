import { allocateBuffer, type DeviceBuffer } from "@vd/kernels-native";
import { makeStorage } from "../graph";
import type { Storage, Tensor } from "../tensor";

/** Copies of tensors one behind the other, made when they are first needed: a model's hundreds of megabytes of them would
 *  stop the event loop for a while. */
export class StackedStorage implements Storage {
  readonly kind = "weights";
  readonly id: number;
  readonly bytes: number;
  private buffer: DeviceBuffer | undefined;
  private filling: Promise<DeviceBuffer> | undefined;

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
    this.buffer ??= this.copied();
    return { buffer: this.buffer, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    if (this.buffer) return;
    this.filling ??= this.copiedAside();
    try {
      const buffer = await this.filling;
      this.buffer ??= buffer;
    } finally {
      this.filling = undefined;
    }
  }

  private copied(): DeviceBuffer {
    const whole = allocateBuffer(this.bytes);
    this.parts.forEach((part, i) => {
      const { buffer, byteOffset } = part.storage.place!;
      whole.copyFromSync(buffer, byteOffset + part.byteOffset, i * this.partBytes, this.partBytes);
    });
    return whole;
  }

  private async copiedAside(): Promise<DeviceBuffer> {
    const whole = allocateBuffer(this.bytes);
    for (const [i, part] of this.parts.entries()) {
      await part.storage.fill?.();
      const { buffer, byteOffset } = part.storage.place!;
      await whole.copyFrom(buffer, byteOffset + part.byteOffset, i * this.partBytes, this.partBytes);
    }
    return whole;
  }
}
