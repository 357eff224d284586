import { type BufferCopy, type Device, type DeviceBuffer, type DType, VdError } from "@vd/kernels-native";
import { makeStorage, packedTensor } from "../graph";
import { packedBytes, requireTensor, type Storage, type Tensor } from "../tensor";

/** Parts of a block begin at multiples of this many bytes. */
const ALIGNMENT = 256;

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** A part of a block, which has a place once the block is allocated. */
class PartStorage implements Storage {
  readonly kind = "state";
  readonly id: number;

  constructor(
    readonly name: string,
    readonly bytes: number,
    private readonly find: () => { buffer: DeviceBuffer; byteOffset: number },
  ) {
    this.id = makeStorage("state", bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    return this.find();
  }
}

/**
 * One block of a device's memory that outlives runs and that several plans share, in named parts. Plans are recorded with
 * tensors of it before the block is allocated, and loaded after that. Tensors of different shapes under one name lie in the same
 * place, which is as large as the largest of them.
 *
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { layoutGraph, Plan, SharedBlock } from "@vd/tensor";
 *
 * const [device, block] = [openDevice("cpu"), new SharedBlock()];
 * const map = block.tensor("map", [1, 1, 2, 2], "f32");
 * const first = layoutGraph((g) => void g.pointwise({ a: g.input("x", map.dims), act: "silu", out: map }));
 * const second = layoutGraph((g) => g.output("y", g.pointwise({ a: map, aScale: 2 })));
 * await block.allocate(device);
 * const plans = [await Plan.load(device, first), await Plan.load(device, second)];
 * await plans[0]!.write("x", [1, 2, 3, 4]);
 * for (const plan of plans) await plan.run();
 * console.log(await plans[1]!.read("y"));
 * for (const plan of plans) await plan.free();
 * await block.free();
 * ```
 */
export class SharedBlock {
  private readonly parts = new Map<string, number>();
  private readonly tensors = new Map<string, Tensor>();
  private block: DeviceBuffer | undefined;
  private isLent = false;

  /**
   * Returns the packed tensor of a shape in part `name`, the same one for the same shape.
   *
   * @throws VdError `internal` for a part that would grow while the block is allocated
   */
  tensor(name: string, dims: readonly number[], dtype: DType): Tensor {
    const key = JSON.stringify([name, dims, dtype]);
    const known = this.tensors.get(key);
    if (known) return known;
    const bytes = packedBytes(dims, dtype);
    if (bytes > (this.parts.get(name) ?? 0)) {
      if (this.block)
        throw new VdError({ code: "internal", where: name, expected: "parts known when allocated", got: "more" });
      this.parts.set(name, bytes);
    }
    const storage = new PartStorage(name, bytes, () => ({ buffer: this.buffer, byteOffset: this.offsetOf(name) }));
    const tensor = packedTensor(storage, dims, dtype);
    this.tensors.set(key, tensor);
    return tensor;
  }

  /** Bytes of all parts that were asked for so far. */
  get bytes(): number {
    return [...this.parts.values()].reduce((sum, bytes) => sum + aligned(bytes), 0);
  }

  /** The block. Throws VdError `internal` where it is not allocated. */
  get buffer(): DeviceBuffer {
    if (!this.block)
      throw new VdError({ code: "internal", where: "shared block", expected: "allocated memory", got: "none" });
    return this.block;
  }

  private offsetOf(name: string): number {
    let offset = 0;
    for (const [part, bytes] of this.parts) {
      if (part === name) break;
      offset += aligned(bytes);
    }
    return offset;
  }

  /**
   * Allocates the block, once all tensors were asked for. It may be allocated again after {@link free}.
   *
   * @throws VdError `memory`
   */
  async allocate(device: Device): Promise<void> {
    this.block = await device.allocate(Math.max(this.bytes, ALIGNMENT));
  }

  /**
   * Takes a buffer of the caller's for the block, instead of {@link allocate}: several blocks of which one at a time is in use may lie in
   * the same memory.
   *
   * @throws VdError `layout` for a buffer that is too small
   */
  lieIn(buffer: DeviceBuffer): void {
    if (buffer.bytes < this.bytes)
      throw new VdError({
        ...{ code: "layout", where: "shared block", expected: `${this.bytes} bytes` },
        got: String(buffer.bytes),
      });
    [this.block, this.isLent] = [buffer, true];
  }

  /** Frees the block, but not a buffer of {@link lieIn}; plans that use it must have been freed. */
  async free(): Promise<void> {
    const own = this.isLent ? undefined : this.block;
    [this.block, this.isLent] = [undefined, false];
    await own?.free();
  }
}

/**
 * Returns the copy of a packed range of one block's tensor to that of another block, which may be another device's, for a run to begin with.
 *
 * @throws VdError `shape` where they differ or lie in no block
 */
export function tensorCopy(to: Tensor, from: Tensor): BufferCopy {
  requireTensor("tensorCopy to", to);
  requireTensor("tensorCopy from", from);
  const [target, source] = [to.storage.place, from.storage.place];
  const bytes = packedBytes(to.dims, to.dtype);
  if (!target || !source || bytes !== packedBytes(from.dims, from.dtype))
    throw new VdError({ code: "shape", where: "tensorCopy", expected: `${to.dims} of a block`, got: `${from.dims}` });
  const [start, end] = [source.byteOffset + from.byteOffset, target.byteOffset + to.byteOffset];
  return { target: target.buffer, to: end, source: source.buffer, from: start, bytes };
}
