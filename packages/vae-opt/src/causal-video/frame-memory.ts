import { type Device, type DeviceBuffer, VdError } from "@vd/kernels-native";
import { type Graph, makeStorage, packedBytes, packedTensor, type Storage, type Tensor } from "@vd/tensor";

/** Where a causal convolution keeps the frames that it needs again before the next piece of the clip: the same tensor for
 *  the same `path`, so that one piece writes what the next one reads. dims: [1,frames,H,W,C]. */
export type FrameMemory = (g: Graph, path: string, dims: readonly number[]) => Tensor;

/** Blocks of memory begin at multiples of this many bytes. */
const ALIGNMENT = 256;

/** Returns the memory of a clip whose pieces are all recorded in one graph: it lies in the arena. */
export function clipMemory(): FrameMemory {
  const kept = new Map<string, Tensor>();
  return (g, path, dims) => {
    const known = kept.get(path) ?? g.empty(dims);
    kept.set(path, known);
    return known;
  };
}

/** A part of a stream's block of memory, which is allocated once its size is known. */
class KeptStorage implements Storage {
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

/** The memory of a stream: one block that outlives runs and that the plans of all its pieces share. */
export class StreamMemory {
  private readonly kept = new Map<string, Tensor>();
  private end = 0;
  private block: DeviceBuffer | undefined;

  /** For recording pieces; those of one shape may be laid out before {@link allocate} and loaded after it. */
  readonly memory: FrameMemory = (g, path, dims) => {
    const known = this.kept.get(path);
    if (known) return known;
    if (this.block)
      throw new VdError({
        code: "internal",
        where: path,
        expected: "memory that the first piece asked for",
        got: "more",
      });
    const bytes = packedBytes(dims, g.dtype);
    const storage = new KeptStorage(path, bytes, this.end, () => this.block);
    this.end += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    const tensor = packedTensor(storage, dims, g.dtype);
    this.kept.set(path, tensor);
    return tensor;
  };

  /** Bytes of all that was asked for so far. */
  get bytes(): number {
    return this.end;
  }

  /** The block. */
  get buffer(): DeviceBuffer {
    return this.block!;
  }

  /**
   * Allocates the block, once one piece has been recorded.
   *
   * @throws VdError `memory`
   */
  async allocate(device: Device): Promise<void> {
    this.block = await device.allocate(Math.max(this.end, ALIGNMENT));
  }

  async free(): Promise<void> {
    await this.block?.free();
  }
}

/** A piece of a clip on its way through the model. */
export interface Piece {
  /** Whether its first frame is the clip's. */
  begins: boolean;
  /** Whether nothing follows, so that nothing must be kept for it. */
  ends: boolean;
  memory: FrameMemory;
  /** Statistics of a norm's input that come from elsewhere, because `x` is only a part of the picture: records what is to be
   *  known of `x`, [1,F,H,W,C], and returns [1,F,groups,2]. Default: those of `x`. */
  statistics?: (g: Graph, path: string, x: Tensor, groups: number) => Tensor;
}
