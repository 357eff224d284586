// Scores that a row of a Hopper kernel does not see: behind its range of keys, outside its box, or hidden by a mask.
//
// A mask of one row for all queries comes ahead of the scores: its bytes as bits that a warp shares. One of a row for every query
// comes through the copy engine where its rows are aligned: read from global memory, a warp's scores lie in eight rows, and
// each load would fetch eight lines for 128 bytes.
#pragma once
#include "../../device/attention_work.cuh"
#include "../../device/ptx/mma.cuh"

namespace vd::device {

/** Values of one coordinate that lie less than `reach` from `at`; 0: all. */
struct SightSpan {
  uint32_t begin, count;
  __device__ __forceinline__ SightSpan(int at, int reach)
      : begin(reach == 0 ? 0u : static_cast<uint32_t>(at - reach + 1)), count(reach == 0 ? 0xffffffffu : 2u * reach - 1u) {}
  __device__ __forceinline__ bool has(int value) const { return static_cast<uint32_t>(value) - begin < count; }
};

/** The box of keys that a query sees. */
struct SightBox {
  SightSpan frame, row, column;
  __device__ __forceinline__ SightBox(const AttentionSight& sight, const AttentionPlace& at)
      : frame(at.frame, sight.window[0]), row(at.row, sight.window[1]), column(at.column, sight.window[2]) {}
  __device__ __forceinline__ bool has(const AttentionPlace& at) const {
    return frame.has(at.frame) && row.has(at.row) && column.has(at.column);
  }
};

/** Moves a place by as many elements as `step` is behind the sequence's first one. */
__device__ __forceinline__ AttentionPlace moved(const AttentionSight& sight, const AttentionPlace& at, const AttentionPlace& step) {
  AttentionPlace to = {at.frame + step.frame, at.row + step.row, at.column + step.column};
  if (to.column >= sight.columns) {
    to.column -= sight.columns;
    ++to.row;
  }
  if (to.row >= sight.rows) {
    to.row -= sight.rows;
    ++to.frame;
  }
  return to;
}

/** What hides scores [64, 2 · kCount] of a warpgroup; this thread has those of rows `row` and `row` + 8. kMasked: also masks and
 *  windows of rows and columns. */
template <bool kMasked, int kCount = 64> class SightMasks {
 public:
  /** firstRow: of the warpgroup; not behind the sequence's last one. */
  __device__ __forceinline__ SightMasks(const AttentionLocalParams&, const Work& w, int firstRow, int row)
      : first_(min(firstRow, w.rowEnd - 1) - w.firstRow), last_(min(firstRow + 63, w.rowEnd - 1) - w.firstRow), row_(row) {}

  /** What scores are multiplied with after `apply` for powers of two. scale: before. */
  static __device__ __forceinline__ float unit(const AttentionLocalParams& p, float scale) { return adds(p) ? 1.0f : scale; }

  /** Which of this thread's keys a mask of one row allows, of the even and the odd ones: bit 2i is for those of scores 4i. */
  struct Ahead {
    uint32_t even, odd;
  };

  /** Reads what `apply` needs of the mask for the tile at `key0`, while its scores are being computed. By all threads of the warp. */
  __device__ __forceinline__ Ahead read_ahead(const AttentionLocalParams& p, const Work& w, int key0) const {
    Ahead ahead = {0, 0};
    if (!kMasked || !has_row_of_flags(p)) return ahead;
    const int lane = threadIdx.x & 31, first = key0 + 4 * lane;
    const uint8_t* flags = static_cast<const uint8_t*>(p.mask) + w.batch * p.maskBatch + w.head * p.maskHead + first;
    uint32_t allowed[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) allowed[i] = __ballot_sync(0xffffffffu, 4 * lane < kKeys && first + i < w.keyEnd && __ldg(flags + i) != 0);
    // Lane l has keys 8i + 2l and the next: bytes 2l % 4 and the next of lane 2i + l / 2.
    const bool upper = lane & 1;
    const int shift = lane >> 1 & 1;
    ahead.even = (upper ? allowed[2] : allowed[0]) >> shift;
    ahead.odd = (upper ? allowed[3] : allowed[1]) >> shift;
    return ahead;
  }

  /** Hides what is not seen of the tile of keys at `key0`, and adds the mask. tile: the mask's in shared memory, or 0. */
  __device__ __forceinline__ void apply(const AttentionLocalParams& p, const Work& w, float (&scores)[kCount], int key0, const Ahead& ahead,
                                        uint32_t tile = 0) const {
    if (kMasked && tile) {
      if (p.maskType == kU8) forbid_by_tile(scores, tile);
      else if (p.maskType == kF16) add_tile<__half>(p, scores, tile);
      else add_tile<__nv_bfloat16>(p, scores, tile);
    } else if (kMasked && p.mask) {
      if (has_row_of_flags(p)) forbid_by_bits(scores, ahead);
      else if (p.maskType == kU8) forbid(p, w, scores, key0);
      else if (p.maskType == kF16) add<__half>(p, w, scores, key0);
      else if (p.maskType == kBf16) add<__nv_bfloat16>(p, w, scores, key0);
      else add<float>(p, w, scores, key0);
    }
    if (key0 + kKeys <= w.keyEnd && p.sight.all_see(first_, last_, key0 - w.key0, key0 + kKeys - 1 - w.key0)) return;
    hide_outside_range(p, w, scores, key0);
    if (kMasked && (p.sight.window[1] > 0 || p.sight.window[2] > 0)) hide_outside_box(p, w, scores, key0);
  }

 private:
  static constexpr int kKeys = 2 * kCount;

  static __device__ __forceinline__ bool adds(const AttentionLocalParams& p) { return kMasked && p.mask && p.maskType != kU8; }

  /** One row of flags for all queries. */
  static __device__ __forceinline__ bool has_row_of_flags(const AttentionLocalParams& p) {
    return p.mask && p.maskType == kU8 && p.maskRow == 0;
  }

  static __device__ __forceinline__ void forbid_by_bits(float (&scores)[kCount], const Ahead& ahead) {
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (!(ahead.even >> 2 * i & 1)) scores[4 * i + 2 * r] = -INFINITY;
        if (!(ahead.odd >> 2 * i & 1)) scores[4 * i + 2 * r + 1] = -INFINITY;
      }
  }

  /** Where this thread's first row begins in a tile of rows of 128 bytes whose 16-byte chunks are permuted by the row's last bits;
   *  bytes: of two keys. Chunk c is at the address with 16 · c exclusively or-ed. */
  static __device__ __forceinline__ uint32_t line_in_tile(uint32_t tile, int bytes) {
    const int lane = threadIdx.x & 31, row = threadIdx.x % 128 / 32 * 16 + lane / 4;
    return tile + row * 128 + ((row & 7) << 4) + (lane & 3) * bytes;
  }

  static __device__ __forceinline__ void forbid_by_tile(float (&scores)[kCount], uint32_t tile) {
    const uint32_t line = line_in_tile(tile, 2);
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const uint32_t two = ptx::load_shared2((line ^ (i / 2 << 4)) + i % 2 * 8 + r * 8 * 128);
        if (!(two & 0xffu)) scores[4 * i + 2 * r] = -INFINITY;
        if (!(two & 0xff00u)) scores[4 * i + 2 * r + 1] = -INFINITY;
      }
  }

  /** Slices of 64 keys lie one after the other. */
  template <class M>
  static __device__ __forceinline__ void add_tile(const AttentionLocalParams& p, float (&scores)[kCount], uint32_t tile) {
    const uint32_t line = line_in_tile(tile, 4);
    const float scale = p.scale * kLog2e;
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const uint32_t two = ptx::load_shared4((line ^ (i % 8 << 4)) + i / 8 * 64 * 128 + r * 8 * 128);
        float* score = scores + 4 * i + 2 * r;
        const float2 added = unpack2<M>(two);
        score[0] = fmaf(score[0], scale, added.x * kLog2e);
        score[1] = fmaf(score[1], scale, added.y * kLog2e);
      }
  }

  /** Of this thread's r-th row in its sequence; of a row behind its end, the last one's. */
  __device__ __forceinline__ int place_of_row(const Work& w, int r) const { return min(row_ + 8 * r, w.rowEnd - 1) - w.firstRow; }

  __device__ __forceinline__ void hide_outside_range(const AttentionLocalParams& p, const Work& w, float (&scores)[kCount],
                                                     int key0) const {
    const int column = key0 + 2 * (threadIdx.x & 3);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int at = place_of_row(w, r);
      const int begin = w.key0 + p.sight.key_begin(at, at) - column, end = w.key0 + p.sight.key_end(at, at, w.keyEnd - w.key0) - column;
#pragma unroll
      for (int i = 0; i < kCount / 4; ++i)
#pragma unroll
        for (int part = 0; part < 2; ++part)
          if (8 * i + part < begin || 8 * i + part >= end) scores[4 * i + 2 * r + part] = -INFINITY;
    }
  }

  /** Keys' places are counted on from the thread's first one: a division for each would cost more than the products. */
  __device__ __forceinline__ void hide_outside_box(const AttentionLocalParams& p, const Work& w, float (&scores)[kCount], int key0) const {
    const SightBox boxes[2] = {{p.sight, p.sight.place(place_of_row(w, 0))}, {p.sight, p.sight.place(place_of_row(w, 1))}};
    const AttentionPlace one = p.sight.place(1), eight = p.sight.place(8);
    AttentionPlace at = p.sight.place(key0 - w.key0 + 2 * static_cast<int>(threadIdx.x & 3));
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      const AttentionPlace next = moved(p.sight, at, one);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (!boxes[r].has(at)) scores[4 * i + 2 * r] = -INFINITY;
        if (!boxes[r].has(next)) scores[4 * i + 2 * r + 1] = -INFINITY;
      }
      at = moved(p.sight, at, eight);
    }
  }

  /** Calls use(score, offset in the mask) for each of the scores whose key there is. */
  template <class Use>
  __device__ __forceinline__ void for_each_masked(const AttentionLocalParams& p, const Work& w, float (&scores)[kCount], int key0,
                                                  Use&& use) const {
    const int column = key0 + 2 * (threadIdx.x & 3), keys = w.keyEnd - column;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int64_t at = w.batch * p.maskBatch + w.head * p.maskHead + min(row_ + 8 * r, w.rowEnd - 1) * p.maskRow + column;
#pragma unroll
      for (int i = 0; i < kCount / 4; ++i)
#pragma unroll
        for (int part = 0; part < 2; ++part)
          if (8 * i + part < keys) use(scores[4 * i + 2 * r + part], at + 8 * i + part);
    }
  }

  __device__ __forceinline__ void forbid(const AttentionLocalParams& p, const Work& w, float (&scores)[kCount], int key0) const {
    const uint8_t* mask = static_cast<const uint8_t*>(p.mask);
    for_each_masked(p, w, scores, key0, [&](float& score, int64_t at) {
      if (__ldg(mask + at) == 0) score = -INFINITY;
    });
  }

  template <class M>
  __device__ __forceinline__ void add(const AttentionLocalParams& p, const Work& w, float (&scores)[kCount], int key0) const {
    const M* mask = static_cast<const M*>(p.mask);
    for_each_masked(p, w, scores, key0,
                    [&](float& score, int64_t at) { score = fmaf(score, p.scale, to_float(__ldg(mask + at))) * kLog2e; });
  }

  int first_, last_, row_;  // places in the sequence of the warpgroup's first and last row; this thread's first row
};

}  // namespace vd::device
