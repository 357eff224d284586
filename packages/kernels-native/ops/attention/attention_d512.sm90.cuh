// attention on Hopper, heads of 257 to 512, of the keys that a row sees: o = softmax(scale · q · kᵀ) · v. Both blocks of a cluster step
// over the tiles of keys that no row of either sees, and look at scores one by one where some row does not see a tile whole. Rows that
// see all keys have a kernel of their own: attention_d512_held.sm90.cuh.
//
// Plan: a block takes 64 query rows; outputs of 64 x 512 floats fill the registers of two consumer warpgroups, 256
// channels each. Scores of a tile of 64 keys are summed over half the channels by each; they exchange halves, so that
// each then owns the scores of 32 keys. Row maxima and probabilities are exchanged through shared memory, too. Two blocks
// of a cluster take neighbouring rows and each multicasts half of every K and V tile to both.
//
// Warps wait for K and V: 128 KiB a tile of 64 rows, one buffer each; loading them in finer parts changed little, as did scores split
// over keys instead of channels. Figures of every version: docs/kernels/attention.md.
//
//   producer: kEmpty ─► half of a part of K to both ─► kFull (four parts);  likewise V (two parts)
//   consumers, tile j: S = Q·K(j)ᵀ, exchange (barrier) | O += P(j-1)·V(j-1), release K | row maxima (barrier) | P(j) to shared, release V
//   (barrier)
#pragma once
#include "../../device/attention_work.cuh"
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/matrix_descriptor.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/ptx/registers.cuh"
#include "../../device/ptx/tma.cuh"
#include "../../device/ptx/uniform.cuh"
#include "../../device/ptx/wgmma.cuh"
#include "../../device/ring_sm90.cuh"
#include "attention_maxima.cuh"
#include "attention_params.h"
#include "attention_sight_masks.cuh"

namespace vd::device::d512 {

constexpr int kRows = 64, kKeys = 64, kDim = 512, kSlices = kDim / 64;
constexpr int kSliceBytes = 64 * 128;  // 64 rows of 64 channels
constexpr int kTileBytes = kSlices * kSliceBytes;  // Q, K or V
constexpr int kStagesK = 4, kSlicesPerStage = kSlices / kStagesK;  // a K tile comes in parts of 128 channels
constexpr int kStagesV = 2, kKeysPerStage = kKeys / kStagesV;  // a V tile in parts of 32 keys
constexpr int kThreads = kAttentionD512Threads;

struct Shared {
  uint32_t q, k, v, p, partial, qFull, kFull, kEmpty, vFull, vEmpty;
};

/** A block's rows where all of them see all keys. */
struct AllKeys {
  static constexpr bool kHidden = false;
  const AttentionSm90Params& p;
  int row0, head, frame, keyFrame;

  __device__ __forceinline__ float unit() const { return p.scale; }
  __device__ __forceinline__ void load_queries(uint32_t dst, uint32_t full, int slice) const {
    ptx::tma_load_4d(dst, &p.q, full, head * kDim + 64 * slice, row0, frame, 0);
  }
  __device__ __forceinline__ void load_keys(uint32_t dst, const TensorMap& map, uint32_t full, int slice, int key) const {
    ptx::tma_multicast_4d(dst, &map, full, 3, head * kDim + 64 * slice, key, keyFrame, 0);
  }
};

/** A block's rows where they see part of the keys. */
struct SeenKeys {
  static constexpr bool kHidden = true;
  const AttentionRangeParams& p;
  const Work& w;
  const KeyTiles<AttentionLocalParams>& tiles;
  int row0, sequence, keySequence;

  struct Steps {
    const SeenKeys& seen;
    int j, key0;
    __device__ __forceinline__ bool more() const { return key0 < seen.tiles.end; }
    __device__ __forceinline__ int key() const { return key0; }
    __device__ __forceinline__ int total() const { return j; }
    __device__ __forceinline__ void advance() {
      ++j;
      key0 = seen.tiles.next(seen.p.rows, key0);
    }
  };
  __device__ __forceinline__ Steps steps() const { return {*this, 0, tiles.begin}; }
  __device__ __forceinline__ float unit() const { return SightMasks<true, 16>::unit(p.rows, p.rows.scale * kLog2e); }
  __device__ __forceinline__ void load_queries(uint32_t dst, uint32_t full, int slice) const {
    ptx::tma_load_4d(dst, &p.q, full, 64 * slice, w.head, row0, sequence);
  }
  __device__ __forceinline__ void load_keys(uint32_t dst, const TensorMap& map, uint32_t full, int slice, int key) const {
    ptx::tma_multicast_4d(dst, &map, full, 3, 64 * slice, w.head, key, keySequence);
  }
};

template <class Keys> __device__ __forceinline__ void produce(const Keys& keys, const Shared& s, int rank) {
  const auto& p = keys.p;
  ptx::mbarrier_arrive_expect_tx(s.qFull, kTileBytes);
#pragma unroll 1
  for (int i = 0; i < kSlices; ++i) keys.load_queries(s.q + i * kSliceBytes, s.qFull, i);
  for (auto at = keys.steps(); at.more(); at.advance()) {
    const uint32_t parity = (at.j & 1) ^ 1;
    // This block's half (32 keys) of K, to both blocks of the cluster; parts in the order the two warpgroups need them.
#pragma unroll 1
    for (int part = 0; part < kStagesK; ++part) {
      const int stage = (part & 1) * 2 + (part >> 1);
      ptx::mbarrier_wait(s.kEmpty + 8 * stage, parity);
      ptx::mbarrier_arrive_expect_tx(s.kFull + 8 * stage, kTileBytes / kStagesK);
#pragma unroll
      for (int i = stage * kSlicesPerStage; i < (stage + 1) * kSlicesPerStage; ++i)
        keys.load_keys(s.k + i * kSliceBytes + rank * 32 * 128, p.k, s.kFull + 8 * stage, i, at.key() + 32 * rank);
    }
    // This block's half (16 keys) of each part of V.
#pragma unroll 1
    for (int stage = 0; stage < kStagesV; ++stage) {
      ptx::mbarrier_wait(s.vEmpty + 8 * stage, parity);
      ptx::mbarrier_arrive_expect_tx(s.vFull + 8 * stage, kTileBytes / kStagesV);
      const int key = stage * kKeysPerStage + rank * (kKeysPerStage / 2);
#pragma unroll 1
      for (int i = 0; i < kSlices; ++i) keys.load_keys(s.v + i * kSliceBytes + key * 128, p.v, s.vFull + 8 * stage, i, at.key() + key);
    }
  }
}

/** Issues partial scores[64, 64] over this warpgroup's 256 channels, two parts of K; the second part is released by the
 *  caller, once it is done. */
template <class T> __device__ __forceinline__ void issue_scores(float (&scores)[32], const Shared& s, int group, uint32_t parity) {
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int stage = 2 * group + part;
    ptx::mbarrier_wait(s.kFull + 8 * stage, parity);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSlicesPerStage; ++i) {
      const int slice = stage * kSlicesPerStage + i;
      const uint64_t a = ptx::matrix_descriptor(s.q + slice * kSliceBytes), b = ptx::matrix_descriptor(s.k + slice * kSliceBytes);
#pragma unroll
      for (int step = 0; step < 4; ++step) ptx::Wgmma<T, 64, 0>::run(scores, a + 2 * step, b + 2 * step, part > 0 || i > 0 || step > 0);
    }
    ptx::wgmma_commit();
  }
}

/** Sends the partial scores of the other's keys and adds those it sent: scores[64, 32] of this warpgroup's keys. */
__device__ __forceinline__ void exchange_scores(float (&scores)[16], const float (&partial)[32], const Shared& s, int group) {
  const uint32_t mine = s.partial + group * 8192 + threadIdx.x % 128 * 16, other = s.partial + (group ^ 1) * 8192 + threadIdx.x % 128 * 16;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      scores[4 * i + e] = group ? partial[16 + 4 * i + e] : partial[4 * i + e];
      v[e] = group ? partial[4 * i + e] : partial[16 + 4 * i + e];
    }
    ptx::store_shared16(mine + i * 2048,
                        make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3])));
  }
  ptx::named_barrier(3, 256);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint4 v = ptx::load_shared16(other + i * 2048);
    scores[4 * i] += __uint_as_float(v.x);
    scores[4 * i + 1] += __uint_as_float(v.y);
    scores[4 * i + 2] += __uint_as_float(v.z);
    scores[4 * i + 3] += __uint_as_float(v.w);
  }
}

/** Rows of a part of V behind the end of a packed sequence become zeros, of this warpgroup's channels: they are another sequence's.
 *  key: of the part's first row. */
__device__ __forceinline__ void clear_values(const SeenKeys& keys, const Shared& s, int group, int stage, int key) {
  if (keys.p.rows.numSequences == 0 || key + kKeysPerStage <= keys.w.keyEnd) return;
  const int row = threadIdx.x % 128 / 4, slice = group * 4 + (threadIdx.x & 3);
  if (key + row >= keys.w.keyEnd) {
#pragma unroll
    for (int chunk = 0; chunk < 8; ++chunk)
      ptx::store_shared16(s.v + slice * kSliceBytes + (stage * kKeysPerStage + row) * 128 + chunk * 16, make_uint4(0, 0, 0, 0));
  }
  ptx::fence_proxy_async();
  ptx::named_barrier(4 + group, 128);
}

/** Issues O[64, 256] += P · V for this warpgroup's channels; V's rows are keys, so it is read transposed. key0: of the tile. */
template <class T, class Keys>
__device__ __forceinline__ void issue_values(const Keys& keys, float (&out)[128], const Shared& s, int group, int buffer, bool accumulate,
                                             uint32_t parity, int key0) {
  const uint64_t a = ptx::matrix_descriptor(s.p + buffer * kSliceBytes),
                 b = ptx::matrix_descriptor(s.v + group * 4 * kSliceBytes, kSliceBytes);
#pragma unroll
  for (int stage = 0; stage < kStagesV; ++stage) {
    ptx::mbarrier_wait(s.vFull + 8 * stage, parity);
    clear_values(keys, s, group, stage, key0 + stage * kKeysPerStage);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 2 * stage; step < 2 * stage + 2; ++step)
      ptx::Wgmma<T, 256, 1>::run(out, a + 2 * step, b + (step * 16 * 128 >> 4), accumulate || step > 0);
    ptx::wgmma_commit();
  }
}

/** Releases the parts of V; waits for the first while the second is still in use. */
__device__ __forceinline__ void finish_values(const Shared& s) {
  ptx::wgmma_wait<1>();
  release_stage<2>(s.vEmpty);
  ptx::wgmma_wait<0>();
  release_stage<2>(s.vEmpty + 8);
}

/** Maximum of the row over both warpgroups' keys; `row` is this thread's row in the tile. */
__device__ __forceinline__ float best_of_row(float (*exchange)[kRows], const float (&scores)[16], int r, int group, int row, bool write) {
  float best = scores[2 * r];
#pragma unroll
  for (int n = 0; n < 4; ++n) best = fmaxf(best, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
  best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
  best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
  if (write) exchange[group][row] = best;
  return best;
}

/** Probabilities of this warpgroup's 32 keys into the swizzled P tile [64 rows, 64 keys]. */
template <class T> __device__ __forceinline__ void store_probabilities(uint32_t tile, const float (&scores)[16], int group, int row) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int line = row + 8 * r, chunk = (group * 4 + n) ^ (line & 7);
      const uint32_t at = tile + line * 128 + chunk * 16 + (threadIdx.x & 3) * 4;
      const uint32_t v = pack2<T>(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]);
      ptx::store_shared4(at, v);
    }
}

/** The start of the results `more` rows behind a row. */
template <class T> __device__ __forceinline__ T* result_row(const AllKeys& keys, int row, int more) {
  const AttentionSm90Params& p = keys.p;
  return static_cast<T*>(p.y) + (static_cast<int64_t>(keys.frame) * p.seqQ + row + more) * p.yPitch + keys.head * kDim;
}
template <class T> __device__ __forceinline__ T* result_row(const SeenKeys& keys, int row, int more) {
  const AttentionLocalParams& p = keys.p.rows;
  const Work& w = keys.w;
  return static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, w.batch, w.frame, w.head, p.dim) + (row + more) * p.y.row;
}
__device__ __forceinline__ int row_end(const AllKeys& keys) { return keys.p.seqQ; }
__device__ __forceinline__ int row_end(const SeenKeys& keys) { return keys.w.rowEnd; }

__device__ __forceinline__ bool has_lse(const AllKeys& keys) { return keys.p.lse; }
__device__ __forceinline__ bool has_lse(const SeenKeys& keys) { return keys.p.rows.lse; }
__device__ __forceinline__ void store_row_lse(const AllKeys& keys, int row, float maximum, float sum) {
  const AttentionSm90Params& p = keys.p;
  p.lse[(static_cast<int64_t>(keys.frame) * p.heads + keys.head) * p.seqQ + row] = (maximum + log2f(sum)) * kLn2;
}
__device__ __forceinline__ void store_row_lse(const SeenKeys& keys, int row, float maximum, float sum) {
  store_lse(keys.p.rows, keys.w, row, maximum, sum);
}

template <class T, class Keys>
__device__ __forceinline__ void store_output(const Keys& keys, const float (&out)[128], const float (&inverse)[2], int row, int group) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const bool inside = row + 8 * r < row_end(keys);
    T* y = result_row<T>(keys, row, 8 * r) + group * 256;
#pragma unroll
    for (int block = 0; block < 8; ++block) {
      float2 v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* o = out + (block * 4 + i) * 4 + 2 * r;
        v[i] = make_float2(o[0] * inverse[r], o[1] * inverse[r]);
      }
      transpose_quad(v, lane);
      const float eight[8] = {v[0].x, v[0].y, v[1].x, v[1].y, v[2].x, v[2].y, v[3].x, v[3].y};
      if constexpr (Keys::kHidden) {
        if (inside && group * 256 + block * 32 + lane * 8 < keys.p.rows.dim) store8(y + block * 32 + lane * 8, eight);
      } else {
        if (inside) store8(y + block * 32 + lane * 8, eight);
      }
    }
  }
}

struct Softmax {
  float max[2], sum[2];  // of this thread's two rows; sums are of this thread's columns only
};

/** Scores that rows do not see, and masks. */
__device__ __forceinline__ void hide(const SeenKeys& keys, float (&scores)[16], int key0, int group, int local) {
  const SightMasks<true, 16> masks(keys.p.rows, keys.w, keys.row0, keys.row0 + local);
  masks.apply(keys.p.rows, keys.w, scores, key0 + group * 32, masks.read_ahead(keys.p.rows, keys.w, key0 + group * 32));
}

/** Scores of tile j → probabilities in shared memory. Returns whether older outputs must be multiplied with `factors`: both
 *  warpgroups decide alike, since they see the same maxima. */
template <class T, class Keys>
__device__ __forceinline__ bool soften(const Keys& keys, const Shared& s, float (*exchange)[2][kRows], Softmax& state, float (&scores)[16],
                                       int j, int key0, int group, int local, float (&factors)[2]) {
  const int lane = threadIdx.x & 3;
  const float unit = keys.unit();
  hide(keys, scores, key0, group, local);
  float best[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) best[r] = best_of_row(exchange[j & 1], scores, r, group, local + 8 * r, lane == 0);
  ptx::named_barrier(1, 256);
#pragma unroll
  for (int r = 0; r < 2; ++r) best[r] = fmaxf(best[r], exchange[j & 1][group ^ 1][local + 8 * r]);
  const bool raised = raise_maxima(state.max, best, unit, factors);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float offset = Keys::kHidden && state.max[r] == -INFINITY ? 0.0f : state.max[r] * unit;
    float sum = state.sum[r] * factors[r];
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& v = scores[4 * n + 2 * r + i];
        v = ptx::exp2_approx(fmaf(v, unit, -offset));
        sum += v;
      }
    state.sum[r] = sum;
  }
  store_probabilities<T>(s.p + (j & 1) * kSliceBytes, scores, group, local);
  ptx::fence_proxy_async();
  return raised;
}

template <class T, class Keys>
__device__ __forceinline__ void consume(const Keys& keys, const Shared& s, float (*exchange)[2][kRows], int group) {
  const int local = threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4, lane = threadIdx.x & 3;
  auto at = keys.steps();
  float out[128], partial[32], scores[16];
  Softmax state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  ptx::mbarrier_wait(s.qFull, 0);
  issue_scores<T>(partial, s, group, 0);
  ptx::wgmma_wait<0>();
  release_stage<2>(s.kEmpty + 16 * group);
  release_stage<2>(s.kEmpty + 16 * group + 8);
  exchange_scores(scores, partial, s, group);
  float factors[2];
  soften<T>(keys, s, exchange, state, scores, 0, at.key(), group, local, factors);
  ptx::named_barrier(2, 256);  // P(0) is complete
  int before = at.key();
  for (at.advance(); at.more(); at.advance()) {
    const int j = at.j;
    issue_scores<T>(partial, s, group, j & 1);
    issue_values<T>(keys, out, s, group, (j - 1) & 1, j > 1, (j - 1) & 1, before);
    ptx::wgmma_wait<kStagesV>();
    release_stage<2>(s.kEmpty + 16 * group);
    release_stage<2>(s.kEmpty + 16 * group + 8);
    exchange_scores(scores, partial, s, group);
    before = at.key();
    const bool raised = soften<T>(keys, s, exchange, state, scores, j, before, group, local, factors);
    finish_values(s);
    if (raised) {
#pragma unroll
      for (int i = 0; i < 128; ++i) out[i] *= factors[i >> 1 & 1];
    }
    ptx::named_barrier(2, 256);  // P(j) is complete
  }
  const int numTiles = at.total();
  issue_values<T>(keys, out, s, group, (numTiles - 1) & 1, numTiles > 1, (numTiles - 1) & 1, before);
  // Sums over the quad, then over both warpgroups.
  float inverse[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (lane == 0) exchange[numTiles & 1][group][local + 8 * r] = sum;
  }
  finish_values(s);
  ptx::named_barrier(1, 256);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float total = exchange[numTiles & 1][0][local + 8 * r] + exchange[numTiles & 1][1][local + 8 * r];
    inverse[r] = Keys::kHidden && total == 0.0f ? 0.0f : ptx::reciprocal_approx(total);
    const int row = keys.row0 + local + 8 * r;
    if (has_lse(keys) && lane == 0 && group == 0 && row < row_end(keys)) store_row_lse(keys, row, state.max[r] * keys.unit(), total);
  }
  store_output<T>(keys, out, inverse, keys.row0 + local, group);
}

/** Sets up shared memory and starts the cluster. */
__device__ __forceinline__ Shared begin(uint8_t* dynamicShared, uint64_t* barriers) {
  Shared s;
  s.q = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  s.k = s.q + kTileBytes;
  s.v = s.k + kTileBytes;
  s.p = s.v + kTileBytes;
  s.partial = s.p + 2 * kSliceBytes;
  s.qFull = shared_address(barriers);
  s.kFull = s.qFull + 8;
  s.kEmpty = s.kFull + 8 * kStagesK;
  s.vFull = s.kEmpty + 8 * kStagesK;
  s.vEmpty = s.vFull + 8 * kStagesV;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(s.qFull, 1);
    for (int i = 0; i < kStagesK; ++i) {
      ptx::mbarrier_init(s.kFull + 8 * i, 1);
      ptx::mbarrier_init(s.kEmpty + 8 * i, 8);  // one warpgroup of two blocks
    }
    for (int i = 0; i < kStagesV; ++i) {
      ptx::mbarrier_init(s.vFull + 8 * i, 1);
      ptx::mbarrier_init(s.vEmpty + 8 * i, 16);  // both warpgroups
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  return s;
}

/** The work of a block's roles. */
template <class T, class Keys>
__device__ __forceinline__ void run(const Keys& keys, const Shared& s, float (*exchange)[2][kRows], int rank) {
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == 2) {
    ptx::registers_lower<40>();
    if (threadIdx.x == 256) produce(keys, s, rank);
  } else {
    ptx::registers_raise<232>();
    consume<T>(keys, s, exchange, warpgroup);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

inline constexpr int kBarriers = 1 + 2 * kStagesK + 2 * kStagesV;

/** Rows without a key are 0. */
template <class T> __device__ __forceinline__ void store_nothing(const SeenKeys& keys) {
  const float zero[8] = {};
  const int vectors = keys.p.rows.dim / 8;
  for (int i = threadIdx.x; i < kRows * vectors; i += kThreads)
    if (keys.row0 + i / vectors < keys.w.rowEnd) store8(result_row<T>(keys, keys.row0, i / vectors) + i % vectors * 8, zero);
  const int row = keys.row0 + static_cast<int>(threadIdx.x);
  if (threadIdx.x < kRows && row < keys.w.rowEnd) store_row_lse(keys, row, 0.0f, 0.0f);
}

template <class T> __device__ __forceinline__ void attention_seen(const AttentionRangeParams& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) uint64_t barriers[kBarriers];
  __shared__ float exchange[2][2][kRows];
  const Shared s = begin(dynamicShared, barriers);
  const AttentionLocalParams& rows = p.rows;
  const int rank = static_cast<int>(ptx::cluster_block_rank()), pair = static_cast<int>(blockIdx.x) / 2;
  Work w;
  if (!find_work(rows, 2 * kRows, pair / rows.numQTiles, rows.numQTiles - 1 - pair % rows.numQTiles, &w)) return;
  const KeyTiles<AttentionLocalParams> tiles(rows, w, 2 * kRows, kKeys);
  const SeenKeys keys = {p,
                         w,
                         tiles,
                         w.row0 + rank * kRows,
                         w.batch * rows.frames + w.frame,
                         p.keyFrames == rows.frames ? w.batch * p.keyFrames + w.frame : w.batch};
  if (tiles.begin >= tiles.end) return store_nothing<T>(keys);
  run<T>(keys, s, exchange, rank);
}

}  // namespace vd::device::d512
