import type { DeviceBuffer } from "@vd/kernels-native";
import { type Graph, makeStorage, packedBytes, packedTensor, type Tensor } from "@vd/tensor";

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

/** The memory of a stream: one block that outlives runs and is shared by the plans of its pieces. */
export interface StreamMemory {
  memory: FrameMemory;
  /** Of all that was asked for so far. */
  bytes(): number;
}

/**
 * Returns the memory of a stream. Every graph that asks for the same paths in the same order finds them at the same places
 * of `buffer`; without one the graph can be laid out, to learn its size, but not be loaded.
 */
export function streamMemory(buffer?: DeviceBuffer): StreamMemory {
  const kept = new Map<string, Tensor>();
  let end = 0;
  const memory: FrameMemory = (g, path, dims) => {
    const known = kept.get(path);
    if (known) return known;
    const bytes = packedBytes(dims, g.dtype);
    const storage = makeStorage("state", bytes, path, buffer && { buffer, byteOffset: end });
    end += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    const tensor = packedTensor(storage, dims, g.dtype);
    kept.set(path, tensor);
    return tensor;
  };
  return { memory, bytes: () => end };
}

/** A piece of a clip on its way through the model. */
export interface Piece {
  /** Whether its first frame is the clip's. */
  begins: boolean;
  /** Whether nothing follows, so that nothing must be kept for it. */
  ends: boolean;
  memory: FrameMemory;
}
