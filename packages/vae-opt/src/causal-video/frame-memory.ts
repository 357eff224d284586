import type { Device, DeviceBuffer } from "@vd/kernels-native";
import { type Graph, SharedBlock, type Tensor } from "@vd/tensor";

/** Where a causal convolution keeps the frames that it needs again before the next piece of the clip: the same tensor for
 *  the same `path`, so that one piece writes what the next one reads. dims: [1,frames,H,W,C]. */
export type FrameMemory = (g: Graph, path: string, dims: readonly number[]) => Tensor;

/** Returns the memory of a clip whose pieces are all recorded in one graph: it lies in the arena. */
export function clipMemory(): FrameMemory {
  const kept = new Map<string, Tensor>();
  return (g, path, dims) => {
    const known = kept.get(path) ?? g.empty(dims);
    kept.set(path, known);
    return known;
  };
}

/** The memory of a stream: one block that outlives runs and that the plans of all its pieces share. Pieces of one shape may be
 *  laid out before it is allocated and loaded after that. */
export class StreamMemory {
  private readonly block = new SharedBlock();

  /** For recording pieces; those after {@link allocate} ask for nothing that the first one did not. */
  readonly memory: FrameMemory = (g, path, dims) => this.block.tensor(path, dims, g.dtype);

  /** Bytes of all that was asked for so far. */
  get bytes(): number {
    return this.block.bytes;
  }

  /** The block. */
  get buffer(): DeviceBuffer {
    return this.block.buffer;
  }

  /**
   * Allocates the block, once one piece has been recorded.
   *
   * @throws VdError `memory`
   */
  allocate(device: Device): Promise<void> {
    return this.block.allocate(device);
  }

  free(): Promise<void> {
    return this.block.free();
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
