import { allocateBuffer, type DeviceBuffer, type DType, FUNCTION, requireArgument } from "@vd/kernels-native";
import { makeStorage } from "../graph";
import { toBfloat16Array, toFloat16Array } from "../half";
import { decodeStored } from "../host";
import { type Pausable, runAtOnce, runInSlices } from "../pausable";
import { packedBytes, requireTensor, type Storage, type Tensor } from "../tensor";

/** Changes one row of a weight: the numbers of one output channel, in place. */
export type ChangeRow = (numbers: Float32Array, row: number) => void;

const ENCODERS: Partial<Record<DType, (values: Float32Array) => Float32Array | Uint16Array>> = {
  f32: (values) => values,
  f16: toFloat16Array,
  bf16: toBfloat16Array,
};

/** A stored tensor with changed numbers in its own type, computed when they are first needed; the stored ones stay as they are. */
export class ChangedStorage implements Storage {
  readonly kind = "weights";
  readonly id: number;
  readonly bytes: number;
  private buffer: DeviceBuffer | undefined;

  /** base: a packed tensor in float32, float16 or bfloat16, in memory that is there. */
  constructor(
    readonly name: string,
    private readonly base: Tensor,
    private readonly change: ChangeRow,
  ) {
    this.bytes = packedBytes(base.dims, base.dtype);
    this.id = makeStorage("weights", this.bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    if (!this.buffer) {
      const { buffer, byteOffset } = this.base.storage.place!;
      const stored = buffer.readSync(new Uint8Array(this.bytes), byteOffset + this.base.byteOffset);
      const whole = allocateBuffer(this.bytes);
      whole.writeSync(runAtOnce(this.changed(stored)));
      this.buffer = whole;
    }
    return { buffer: this.buffer, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    if (this.buffer) return;
    await this.base.storage.fill?.();
    const { buffer, byteOffset } = this.base.storage.place!;
    const stored = await buffer.readBytes(byteOffset + this.base.byteOffset, this.bytes);
    const whole = allocateBuffer(this.bytes);
    await whole.write(await runInSlices(this.changed(stored)));
    this.buffer ??= whole;
  }

  /** The changed bytes. Pauses after each row. */
  private *changed(stored: Uint8Array): Pausable<Uint8Array> {
    const { dims, dtype } = this.base;
    const numRows = dims[0] ?? 1;
    const rowBytes = this.bytes / numRows;
    const result = new Uint8Array(this.bytes);
    for (let row = 0; row < numRows; row++) {
      const begin = row * rowBytes;
      const numbers = decodeStored(stored.slice(begin, begin + rowBytes), dtype);
      this.change(numbers, row);
      const { buffer, byteOffset, byteLength } = ENCODERS[dtype]!(numbers);
      result.set(new Uint8Array(buffer, byteOffset, byteLength), begin);
      yield;
    }
    return result;
  }
}

/** Returns a weight with changed rows, in its own type; the sums are made when a plan that uses it is loaded. weight: packed, in float32,
 *  float16 or bfloat16. */
export function changedWeight(weight: Tensor, change: ChangeRow): Tensor {
  requireTensor("changedWeight", weight);
  requireArgument("changedWeight change", change, FUNCTION);
  return { ...weight, storage: new ChangedStorage(`${weight.storage.name} (changed)`, weight, change), byteOffset: 0 };
}
