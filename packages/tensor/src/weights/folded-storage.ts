import { allocateBuffer, type DeviceBuffer } from "@vd/kernels-native";
import { makeStorage } from "../graph";
import { decodeStored } from "../host";
import { packedBytes, type Storage, type Tensor } from "../tensor";

/** Float32 numbers computed from stored tensors when they are first needed. */
export class FoldedStorage implements Storage {
  readonly kind = "weights";
  readonly id: number;
  readonly bytes: number;
  private buffer: DeviceBuffer | undefined;

  /** count: of the results. parts: packed tensors in memory that is there, whose numbers `fold` gets in this order. */
  constructor(
    readonly name: string,
    count: number,
    private readonly parts: readonly Tensor[],
    private readonly fold: (numbers: readonly Float32Array[]) => Float32Array,
  ) {
    this.bytes = count * Float32Array.BYTES_PER_ELEMENT;
    this.id = makeStorage("weights", this.bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    if (!this.buffer) {
      const whole = allocateBuffer(this.bytes);
      whole.writeSync(this.fold(this.parts.map(numbersOf)));
      this.buffer = whole;
    }
    return { buffer: this.buffer, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    if (this.buffer) return;
    const numbers: Float32Array[] = [];
    for (const part of this.parts) {
      await part.storage.fill?.();
      const { buffer, byteOffset } = part.storage.place!;
      const bytes = await buffer.readBytes(byteOffset + part.byteOffset, packedBytes(part.dims, part.dtype));
      numbers.push(decodeStored(bytes, part.dtype));
    }
    const whole = allocateBuffer(this.bytes);
    await whole.write(this.fold(numbers));
    this.buffer ??= whole;
  }
}

function numbersOf({ storage, byteOffset, dims, dtype }: Tensor): Float32Array {
  const { buffer, byteOffset: base } = storage.place!;
  return decodeStored(buffer.readSync(new Uint8Array(packedBytes(dims, dtype)), base + byteOffset), dtype);
}
