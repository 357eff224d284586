// What the portable attention kernels share: which rows a block works on, masks, the log-sum-exp.
#pragma once
#include "attention_rows.h"
#include "vec.cuh"

namespace vd::device {

/** Element offset of the first row of sequence (batch, frame), head `head`. */
__device__ __forceinline__ int64_t sequence_base(const AttentionView& v, int batch, int frame, int head, int dim) {
  return batch * v.batch + frame * v.frame + static_cast<int64_t>(head) * dim;
}

/** What a block works on: rows [row0, rowEnd) of q against keys [key0, keyEnd) of one head and frame. */
struct Work {
  int row0, rowEnd, key0, keyEnd, firstRow;  // firstRow: where the (packed) sequence starts, for causal
  int head, frame, batch;
};

/** The work on rows of a head and frame; false: there are fewer tiles. Packed sequences take tiles in turn; rows before the first
 *  and after the last have no keys. */
__device__ __forceinline__ bool find_work(const AttentionMmaParams& p, int blockRows, int headFrame, int tile, Work* w) {
  w->head = headFrame % p.heads;
  w->frame = headFrame / p.heads % p.frames;
  w->batch = headFrame / p.heads / p.frames;
  if (p.numSequences == 0) {
    *w = {tile * blockRows, p.seqQ, 0, p.seqK, 0, w->head, w->frame, w->batch};
    return true;
  }
  for (int i = -1; i <= p.numSequences; ++i) {
    const int start = i < 0 ? 0 : p.cuQ[i], end = i == p.numSequences ? p.seqQ : p.cuQ[i + 1];
    const int tiles = (end - start + blockRows - 1) / blockRows;
    if (tile < tiles) {
      const bool real = i >= 0 && i < p.numSequences;
      *w = {start + tile * blockRows, end, real ? p.cuK[i] : 0, real ? p.cuK[i + 1] : 0, start, w->head, w->frame, w->batch};
      return true;
    }
    tile -= tiles;
  }
  return false;
}

/** The work of this block, where blocks take the tiles of one head and frame after those of another. */
__device__ __forceinline__ bool find_work(const AttentionMmaParams& p, int blockRows, Work* w) {
  return find_work(p, blockRows, blockIdx.x / p.numQTiles, blockIdx.x % p.numQTiles, w);
}

/** Score of one pair after scale and mask, times log2(e); -inf when the pair is not allowed. */
__device__ __forceinline__ float masked_score(const AttentionMmaParams& p, const Work& w, float score, int row, int key) {
  if (key >= w.keyEnd || row >= w.rowEnd) return -INFINITY;
  if (p.causal && key - w.key0 > row - w.firstRow) return -INFINITY;
  score *= p.scale;
  if (p.mask) {
    const int64_t at = w.batch * p.maskBatch + w.head * p.maskHead + row * p.maskRow + key;
    if (p.maskType == kU8) {
      if (static_cast<const uint8_t*>(p.mask)[at] == 0) return -INFINITY;
    } else {
      score += load_any(p.mask, p.maskType, at);
    }
  }
  return score * kLog2e;
}

/** The same within a window. */
__device__ __forceinline__ float masked_score(const AttentionLocalParams& p, const Work& w, float score, int row, int key) {
  if (row >= w.rowEnd || key >= w.keyEnd || !p.sight.sees(row - w.firstRow, key - w.key0)) return -INFINITY;
  return masked_score(static_cast<const AttentionMmaParams&>(p), w, score, row, key);
}

/** Keys that one of a block's rows sees, as far as whole tiles are concerned. */
template <class Params> class KeyTiles {
 public:
  __device__ __forceinline__ KeyTiles(const Params& p, const Work& w, int blockRows, int tileKeys) : w_(w), tile_(tileKeys) {
    begin = w.key0;
    end = w.keyEnd;
    if constexpr (Params::kLocal) {
      first_ = w.row0 - w.firstRow;
      last_ = min(w.row0 + blockRows, w.rowEnd) - 1 - w.firstRow;
      end = w.key0 + p.sight.key_end(first_, last_, w.keyEnd - w.key0);
      begin = visible(p, w.key0 + p.sight.key_begin(first_, last_));
    }
  }

  int begin, end;

  /** The first key of the tile after the one at `key0`. */
  __device__ __forceinline__ int next(const Params& p, int key0) const {
    if constexpr (Params::kLocal) return visible(p, key0 + tile_);
    else return key0 + tile_;
  }

  /** True if all rows of the block see all keys of the tile at `key0`. */
  __device__ __forceinline__ bool all_visible(const Params& p, int key0) const {
    if constexpr (Params::kLocal)
      return key0 + tile_ <= w_.keyEnd && p.sight.all_see(first_, last_, key0 - w_.key0, key0 + tile_ - 1 - w_.key0);
    else return true;
  }

 private:
  __device__ __forceinline__ int visible(const Params& p, int key0) const {
    while (key0 < end && !p.sight.may_see(first_, last_, key0 - w_.key0, min(key0 + tile_, end) - 1 - w_.key0)) key0 += tile_;
    return key0;
  }

  const Work& w_;
  int tile_, first_ = 0, last_ = 0;
};

__device__ __forceinline__ void store_lse(const AttentionMmaParams& p, const Work& w, int row, float max, float sum) {
  if (p.lse)
    p.lse[w.batch * p.lseBatch + w.frame * p.lseFrame + w.head * p.lseHead + row * p.lseRow] =
        sum == 0.0f ? -INFINITY : (max + log2f(sum)) * kLn2;
}

}  // namespace vd::device
