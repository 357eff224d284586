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

/** The memory of a stream: one block that outlives runs and that the plans of all its pieces share. */
export class StreamMemory extends SharedBlock {
  /** For recording pieces; those of one shape may be laid out before {@link allocate} and loaded after it. */
  readonly memory: FrameMemory = (g, path, dims) => this.tensor(path, dims, g.dtype);
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
