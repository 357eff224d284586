import { type Device, type DeviceBuffer, type DType, VdError } from "@vd/kernels-native";
import { makeStorage, packedTensor } from "../graph";
import { packedBytes, type Storage, type Tensor } from "../tensor";

/** Parts of the block begin at multiples of this many bytes. */
const ALIGNMENT = 256;

/** A part of a block that is allocated once its size is known. */
class PartStorage implements Storage {
  readonly kind = "state";
  readonly id: number;

  constructor(
    readonly name: string,
    readonly bytes: number,
    private readonly byteOffset: number,
    private readonly block: () => DeviceBuffer | undefined,
  ) {
    this.id = makeStorage("state", bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    const buffer = this.block();
    if (!buffer) throw new VdError({ code: "internal", where: this.name, expected: "allocated memory", got: "none" });
    return { buffer, byteOffset: this.byteOffset };
  }
}

/** One block of a device's memory that outlives runs and that several plans share. Graphs are recorded with its tensors first; then it
 *  is allocated, and the plans are loaded. */
export class SharedBlock {
  private readonly parts = new Map<string, Tensor>();
  private end = 0;
  private block: DeviceBuffer | undefined;

  /**
   * Returns the tensor of this name, the same one each time. dims and dtype: those with which it was asked for first.
   *
   * @throws VdError `internal` for a new name after {@link allocate}
   */
  tensor(name: string, dims: readonly number[], dtype: DType): Tensor {
    const known = this.parts.get(name);
    if (known) return known;
    if (this.block)
      throw new VdError({ code: "internal", where: name, expected: "a part that was asked for before", got: "more" });
    const bytes = packedBytes(dims, dtype);
    const storage = new PartStorage(name, bytes, this.end, () => this.block);
    this.end += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    const tensor = packedTensor(storage, dims, dtype);
    this.parts.set(name, tensor);
    return tensor;
  }

  /** Bytes of all that was asked for so far. */
  get bytes(): number {
    return this.end;
  }

  /** The block. */
  get buffer(): DeviceBuffer {
    return this.block!;
  }

  /**
   * Allocates the block, once all graphs are recorded.
   *
   * @throws VdError `memory`
   */
  async allocate(device: Device): Promise<void> {
    this.block = await device.allocate(Math.max(this.end, ALIGNMENT));
  }

  /** Frees the block; it can be allocated again. */
  async free(): Promise<void> {
    const { block } = this;
    this.block = undefined;
    await block?.free();
  }
}
