// What the kernels of attention's gradients share: which keys a block works on, probabilities, sums of dy · y.
#pragma once
#include "../../device/attention_work.cuh"
#include "../../device/ptx/math.cuh"
#include "attention_backward_params.h"

namespace vd::device {

/** What a block works on: keys [tile0, work.keyEnd) of one head and sequence of keys. `work` has all keys and rows of the
 *  sequence and the first frame whose rows see them; frameEnd: one behind the last. */
struct KeyWork {
  Work work;
  int tile0, keyFrame, frameEnd;
};

/** Packed sequences take block indices in turn; keys before the first and after the last have no rows. */
__device__ __forceinline__ bool find_key_work(const AttentionBackwardParams& p, int blockKeys, KeyWork* k) {
  const int headFrame = blockIdx.x / p.numKeyTiles;
  int tile = blockIdx.x % p.numKeyTiles;
  Work& w = k->work;
  w.head = headFrame % p.heads;
  k->keyFrame = headFrame / p.heads % p.keyFrames;
  w.batch = headFrame / p.heads / p.keyFrames;
  w.frame = k->keyFrame;
  k->frameEnd = p.keyFrames == p.frames ? k->keyFrame + 1 : p.frames;
  w.row0 = w.firstRow = w.key0 = 0;
  w.rowEnd = p.seqQ;
  w.keyEnd = p.seqK;
  k->tile0 = tile * blockKeys;
  if (p.numSequences == 0) return true;
  for (int i = -1; i <= p.numSequences; ++i) {
    const int start = i < 0 ? 0 : p.cuK[i], end = i == p.numSequences ? p.seqK : p.cuK[i + 1];
    const int tiles = (end - start + blockKeys - 1) / blockKeys;
    if (tile < tiles) {
      const bool real = i >= 0 && i < p.numSequences;
      w.row0 = w.firstRow = real ? p.cuQ[i] : 0;
      w.rowEnd = real ? p.cuQ[i + 1] : 0;
      w.key0 = start;
      w.keyEnd = end;
      k->tile0 = start + tile * blockKeys;
      return true;
    }
    tile -= tiles;
  }
  return false;
}

/** Rows of the sequence that a block's keys may be seen by, in tiles. */
class RowTiles {
 public:
  __device__ __forceinline__ RowTiles(const AttentionBackwardParams& p, const KeyWork& k, int blockKeys, int tileRows)
      : w_(k.work), tile_(tileRows), first_(k.tile0 - k.work.key0), last_(min(k.tile0 + blockKeys, k.work.keyEnd) - 1 - k.work.key0) {
    const int count = w_.rowEnd - w_.firstRow;
    end = w_.firstRow + p.sight.query_end(first_, last_, count);
    begin = visible(p, w_.firstRow + p.sight.query_begin(first_, last_));
  }

  int begin, end;

  /** The first row of the tile after the one at `row0`. */
  __device__ __forceinline__ int next(const AttentionBackwardParams& p, int row0) const { return visible(p, row0 + tile_); }

 private:
  __device__ __forceinline__ int visible(const AttentionBackwardParams& p, int row0) const {
    while (row0 < end && !p.sight.may_see(row0 - w_.firstRow, min(row0 + tile_, end) - 1 - w_.firstRow, first_, last_)) row0 += tile_;
    return row0;
  }

  const Work& w_;
  int tile_, first_, last_;
};

/** A row's log-sum-exp times log2(e): what its scores are taken relative to. Infinity for rows that see nothing, or are
 *  none, so that all their probabilities are 0. */
__device__ __forceinline__ float row_offset(const AttentionBackwardParams& p, const Work& w, int row) {
  if (row >= w.rowEnd) return INFINITY;
  const float lse = p.lse[w.batch * p.lseBatch + w.frame * p.lseFrame + w.head * p.lseHead + row * p.lseRow];
  return lse == -INFINITY ? INFINITY : lse * kLog2e;
}

__device__ __forceinline__ float row_delta(const AttentionBackwardParams& p, const Work& w, int row) {
  if (row >= w.rowEnd) return 0.0f;
  return p.delta[w.batch * p.deltaBatch + w.frame * p.deltaFrame + w.head * p.deltaHead + row * p.deltaRow];
}

/** delta = sums of dy · y over a head's channels; a warp to a row and head. */
template <class T> __device__ __forceinline__ void attention_delta(const AttentionBackwardParams& p) {
  const int64_t unit = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (unit >= static_cast<int64_t>(p.numHeadsFrames) * p.seqQ) return;
  const int64_t row = unit % p.seqQ;
  const int headFrame = static_cast<int>(unit / p.seqQ);
  const int head = headFrame % p.heads, frame = headFrame / p.heads % p.frames, batch = headFrame / p.heads / p.frames;
  const T* y = static_cast<const T*>(p.y.data) + sequence_base(p.y, batch, frame, head, p.dim) + row * p.y.row;
  const T* dy = static_cast<const T*>(p.dy.data) + sequence_base(p.dy, batch, frame, head, p.dim) + row * p.dy.row;
  float sum = 0.0f;
  for (int c = threadIdx.x & 31; c < p.dim; c += 32) sum = fmaf(to_float(y[c]), to_float(dy[c]), sum);
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if ((threadIdx.x & 31) == 0) p.delta[batch * p.deltaBatch + frame * p.deltaFrame + head * p.deltaHead + row * p.deltaRow] = sum;
}

}  // namespace vd::device
