// attention on Hopper where rows see part of the keys: heads of up to kDim channels, 16 bits.
//
// range: a row sees one range of keys (causal limit, window along the sequence, packed sequences, or all). masked: of that range, keys
// that a mask and a window of rows and columns leave. Tiles of keys that no row of a block sees are neither loaded nor multiplied; only
// in tiles that some row does not see whole are scores looked at one by one.
//
// Plan: persistent blocks of one producer warp and two consumer warpgroups (three for heads of up to 48), each with 64 query rows. K and V
// come in tiles of 128 keys through two rings filled by the copy engine, Q through a third, so that the next rows are there when a block's
// last ones are done. Scores of tile j + 1 are issued before the probabilities of tile j are multiplied with V. Blocks take the longest
// tiles first, in turns from both ends, so that all have about the same work.
#pragma once
#include <type_traits>

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
#include "attention_range.h"
#include "attention_sight_masks.cuh"

namespace vd::device {

/** Element type, shape of blocks, whether masks and boxes are looked at. */
template <class T_, int kTileIndex, bool kMasked_> struct RangeConfig {
  using T = T_;
  static constexpr RangeTile kTile = kRangeTiles[kTileIndex];
  static constexpr int kDim = kTile.dim, kConsumers = kTile.consumers, kRows = range_rows(kTile), kSlices = range_slices(kTile);
  static constexpr bool kMasked = kMasked_;
  /** Whether queries stand in registers, where that was faster on an H100: docs/kernels/attention.md. */
  static constexpr bool kHoldsQueries = kMasked ? kDim == 64 : kDim == 80 || kDim == 128;
  static constexpr int kQSlice = kRows * 128, kQBytes = kSlices * kQSlice;                   // slices of 64 channels
  static constexpr int kTileSlice = kRangeKeys * 128, kTileBytes = kSlices * kTileSlice;  // K or V
  static constexpr int kQStages = kTile.queryStages, kStagesK = kTile.keyStages, kStagesV = kTile.valueStages;
};

/** mask and its barriers: one for each warpgroup, which takes its rows when it is ready for them. */
struct RangeShared {
  uint32_t q, k, v, mask, qFull, qEmpty, kFull, kEmpty, vFull, vEmpty, maskFull, maskEmpty;
};

/** Calls body(work, tiles) for each of this block's tiles of query rows. */
template <int kRows, class Body> __device__ __forceinline__ void for_each_rows(const AttentionRangeParams& p, Body&& body) {
  const AttentionLocalParams& rows = p.rows;
  const int blocks = gridDim.x, together = p.headsTogether * rows.numQTiles;
  for (int round = 0;; ++round) {
    const int index = round * blocks + (round & 1 ? blocks - 1 - static_cast<int>(blockIdx.x) : static_cast<int>(blockIdx.x));
    if (index >= p.numTiles) return;
    const int first = index / together * p.headsTogether, inGroup = index % together;
    const int heads = min(p.headsTogether, rows.numHeadsFrames - first);
    Work w;
    if (!find_work(rows, kRows, first + inGroup % heads, rows.numQTiles - 1 - inGroup / heads, &w)) continue;
    body(w, KeyTiles<AttentionLocalParams>(rows, w, kRows, kRangeKeys));
  }
}

/** Loads each warpgroup's rows of the mask for the keys from `key0` on. */
template <int kConsumers>
__device__ __forceinline__ void load_mask(const AttentionRangeParams& p, const RangeShared& s, const Work& w, int key0, uint32_t parity) {
  const bool bytes = p.rows.maskType == kU8;
  const int head = p.rows.maskHead ? w.head : 0, batch = p.rows.maskBatch ? w.batch : 0;
#pragma unroll
  for (int group = 0; group < kConsumers; ++group) {
    const uint32_t full = s.maskFull + 8 * group, tile = s.mask + group * kRangeMaskBytes;
    ptx::mbarrier_wait(s.maskEmpty + 8 * group, parity);
    ptx::mbarrier_arrive_expect_tx(full, bytes ? kRangeMaskBytes / 2 : kRangeMaskBytes);
    ptx::tma_load_4d(tile, &p.mask, full, key0, w.row0 + group * 64, head, batch);
    if (!bytes) ptx::tma_load_4d(tile + kRangeMaskBytes / 2, &p.mask, full, key0 + kRangeKeys / 2, w.row0 + group * 64, head, batch);
  }
}

template <class Config> __device__ __forceinline__ void range_produce(const AttentionRangeParams& p, const RangeShared& s) {
  RingCursor<Config::kStagesK> k;
  RingCursor<Config::kStagesV> v;
  RingCursor<Config::kQStages> q;
  uint32_t maskParity = 1;
  const auto load = [&](uint32_t dst, int sliceBytes, const TensorMap& map, uint32_t full, int head, int row, int sequence) {
    ptx::mbarrier_arrive_expect_tx(full, Config::kSlices * sliceBytes);
#pragma unroll
    for (int i = 0; i < Config::kSlices; ++i) ptx::tma_load_4d(dst + i * sliceBytes, &map, full, 64 * i, head, row, sequence);
  };
  for_each_rows<Config::kRows>(p, [&](const Work& w, const KeyTiles<AttentionLocalParams>& tiles) {
    if (tiles.begin >= tiles.end) return;
    ptx::mbarrier_wait(s.qEmpty + 8 * q.stage, q.parity ^ 1);
    load(s.q + q.stage * Config::kQBytes, Config::kQSlice, p.q, s.qFull + 8 * q.stage, w.head, w.row0, w.batch * p.rows.frames + w.frame);
    q.advance();
    const int sequence = p.keyFrames == p.rows.frames ? w.batch * p.keyFrames + w.frame : w.batch;
    for (int key0 = tiles.begin; key0 < tiles.end; key0 = tiles.next(p.rows, key0)) {
      ptx::mbarrier_wait(s.kEmpty + 8 * k.stage, k.parity ^ 1);
      load(s.k + k.stage * Config::kTileBytes, Config::kTileSlice, p.k, s.kFull + 8 * k.stage, w.head, key0, sequence);
      k.advance();
      if (Config::kMasked && p.maskTiles) {
        load_mask<Config::kConsumers>(p, s, w, key0, maskParity);
        maskParity ^= 1;
      }
      ptx::mbarrier_wait(s.vEmpty + 8 * v.stage, v.parity ^ 1);
      load(s.v + v.stage * Config::kTileBytes, Config::kTileSlice, p.v, s.vFull + 8 * v.stage, w.head, key0, sequence);
      v.advance();
    }
  });
}

/** Issues scores[64, 128] = Q · Kᵀ for this warpgroup. */
template <class Config> __device__ __forceinline__ void range_scores(float (&scores)[64], uint32_t q, uint32_t k) {
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < Config::kDim / 16; ++step) {
    const uint64_t a = ptx::matrix_descriptor(q + step / 4 * Config::kQSlice),
                   b = ptx::matrix_descriptor(k + step / 4 * Config::kTileSlice);
    ptx::Wgmma<typename Config::T, kRangeKeys, 0>::run(scores, a + 2 * (step % 4), b + 2 * (step % 4), step > 0);
  }
  ptx::wgmma_commit();
}

/** Queries of a warpgroup in registers: operands of products of depth 16. */
template <class Config> struct HeldQueries {
  uint32_t at[Config::kDim / 16][4];

  /** Reads this warp's 16 rows from shared memory. */
  __device__ __forceinline__ void read(uint32_t tile) {
    const int lane = threadIdx.x & 31, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (int step = 0; step < Config::kDim / 16; ++step)
      ptx::ldmatrix_x4(at[step], tile + step / 4 * Config::kQSlice + row * 128 + ((step % 4 * 2 + lane / 16) ^ (row & 7)) * 16);
  }
};

/** The same with queries from registers: shared memory is read for two thirds of the bytes. */
template <class Config> __device__ __forceinline__ void range_scores(float (&scores)[64], const HeldQueries<Config>& q, uint32_t k) {
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < Config::kDim / 16; ++step) {
    const uint64_t b = ptx::matrix_descriptor(k + step / 4 * Config::kTileSlice);
    ptx::WgmmaRegisters<typename Config::T, kRangeKeys, 0>::run(scores, q.at[step], b + 2 * (step % 4), step > 0);
  }
  ptx::wgmma_commit();
}

/** Issues O[64, kDim] += P · V; V's rows are keys, so it is read transposed. */
template <class Config>
__device__ __forceinline__ void range_values(float (&out)[Config::kDim / 2], const uint32_t (&p)[8][4], uint32_t v, bool accumulate) {
  const uint64_t b = ptx::matrix_descriptor(v, Config::kTileSlice);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 8; ++step)
    ptx::WgmmaRegisters<typename Config::T, Config::kDim, 1>::run(out, p[step], b + (step * 16 * 128 >> 4), accumulate || step > 0);
  ptx::wgmma_commit();
}

/** Rows of V behind the end of a packed sequence become zeros: they are another sequence's, and a probability of 0 does not hide
 *  what is not finite. By all warps of the warpgroup. */
template <class Config>
__device__ __forceinline__ void clear_values(const AttentionLocalParams& p, const Work& w, uint32_t v, int key0, int group) {
  if (p.numSequences == 0 || key0 + kRangeKeys <= w.keyEnd) return;
  const int row = threadIdx.x % 128;
  if (key0 + row >= w.keyEnd) {
#pragma unroll
    for (int i = 0; i < Config::kSlices; ++i)
#pragma unroll
      for (int chunk = 0; chunk < 8; ++chunk)
        ptx::store_shared16(v + i * Config::kTileSlice + row * 128 + chunk * 16, make_uint4(0, 0, 0, 0));
  }
  ptx::fence_proxy_async();
  ptx::named_barrier(1 + group, 128);
}

/** Of a thread's two rows: what scores are taken relative to, and the sums of its own keys' probabilities. */
struct RangeState {
  float maxima[2], sums[2];
};

/** Scores become probabilities. Returns whether older outputs must be multiplied with `factors`. */
__device__ __forceinline__ bool range_soften(RangeState& state, float (&scores)[64], float scale, float (&factors)[2]) {
  float best[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const auto pair = [&](int i) { return fmaxf(scores[4 * i + 2 * r], scores[4 * i + 2 * r + 1]); };
    float even = pair(0), odd = pair(1);
#pragma unroll
    for (int i = 2; i < 16; i += 2) {
      even = fmaxf(even, pair(i));
      odd = fmaxf(odd, pair(i + 1));
    }
    best[r] = fmaxf(even, odd);
  }
  const bool raised = raise_maxima(state.maxima, best, scale, factors);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float offset = state.maxima[r] == -INFINITY ? 0.0f : state.maxima[r] * scale;  // no key so far: every probability is 0
    float even = state.sums[r] * factors[r], odd = 0.0f;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float& first = scores[4 * i + 2 * r];
      float& second = scores[4 * i + 2 * r + 1];
      first = ptx::exp2_approx(fmaf(first, scale, -offset));
      second = ptx::exp2_approx(fmaf(second, scale, -offset));
      even += first;
      odd += second;
    }
    state.sums[r] = even + odd;
  }
  return raised;
}

/** Stores a run of 32 channels of one of a thread's rows. o: its sums, those of the other row between them. */
template <class Config>
__device__ __forceinline__ void range_store_run(typename Config::T* at, const float* o, float inverse, int run, bool inside, int dim) {
  const int lane = threadIdx.x & 3;
  uint32_t v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    v[i] = run * 4 + i < Config::kDim / 8 ? pack2<typename Config::T>(o[4 * i] * inverse, o[4 * i + 1] * inverse) : 0;
  transpose_quad(v, lane);
  const int c = run * 32 + lane * 8;
  if (inside && c < dim) *reinterpret_cast<uint4*>(at + c) = make_uint4(v[0], v[1], v[2], v[3]);
}

/** Divides by the sums and stores outputs and log-sum-exp. A row without keys is 0. */
template <class Config>
__device__ __forceinline__ void range_store(const AttentionLocalParams& p, const Work& w, const RangeState& state, float scale,
                                            const float (&out)[Config::kDim / 2], int row) {
  using T = typename Config::T;
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, w.batch, w.frame, w.head, p.dim);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sums[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const bool inside = row + 8 * r < w.rowEnd;
    const float inverse = sum > 0.0f ? ptx::reciprocal_approx(sum) : 0.0f;
#pragma unroll
    for (int run = 0; run < (Config::kDim + 31) / 32; ++run)
      range_store_run<Config>(y + (row + 8 * r) * p.y.row, out + run * 16 + 2 * r, inverse, run, inside, p.dim);
    if (inside && threadIdx.x % 4 == 0) store_lse(p, w, row + 8 * r, state.maxima[r] * scale, sum);
  }
}

template <class Config> __device__ __forceinline__ void range_consume(const AttentionRangeParams& p, const RangeShared& s, int group) {
  using T = typename Config::T;
  RingCursor<Config::kStagesK> k;
  RingCursor<Config::kStagesV> v;
  RingCursor<Config::kQStages> q;
  const int rowInTile = group * 64 + threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4;
  const float scale = p.rows.scale * kLog2e, unit = SightMasks<Config::kMasked>::unit(p.rows, scale);
  const uint32_t maskTile = Config::kMasked && p.maskTiles ? s.mask + group * kRangeMaskBytes : 0;
  uint32_t maskParity = 0;
  for_each_rows<Config::kRows>(p, [&](const Work& w, const KeyTiles<AttentionLocalParams>& tiles) {
    RangeState state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
    float scores[64], out[Config::kDim / 2] = {}, factors[2];
    uint32_t probabilities[8][4];
    const int row = w.row0 + rowInTile;
    if (tiles.begin >= tiles.end) {
      range_store<Config>(p.rows, w, state, unit, out, row);
      return;
    }
    const SightMasks<Config::kMasked> masks(p.rows, w, w.row0 + group * 64, row);
    ptx::mbarrier_wait(s.qFull + 8 * q.stage, q.parity);
    const uint32_t queryTile = s.q + q.stage * Config::kQBytes + group * 64 * 128;
    std::conditional_t<Config::kHoldsQueries, HeldQueries<Config>, uint32_t> queries;
    if constexpr (Config::kHoldsQueries) {
      queries.read(queryTile);
      __syncwarp();
      release_stage<1>(s.qEmpty + 8 * q.stage);
      q.advance();
    } else {
      queries = queryTile;
    }
    ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    const auto hide = [&](int key0, const typename SightMasks<Config::kMasked>::Ahead& ahead) {
      if (maskTile) ptx::mbarrier_wait(s.maskFull + 8 * group, maskParity);
      masks.apply(p.rows, w, scores, key0, ahead, maskTile);
      if (!maskTile) return;
      __syncwarp();
      release_stage<1>(s.maskEmpty + 8 * group);
      maskParity ^= 1;
    };
    range_scores<Config>(scores, queries, s.k + k.stage * Config::kTileBytes);
    auto ahead = masks.read_ahead(p.rows, w, tiles.begin);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.kEmpty + 8 * k.stage);
    k.advance();
    hide(tiles.begin, ahead);
    range_soften(state, scores, unit, factors);
    const auto pack = [&] {
#pragma unroll
      for (int i = 0; i < 32; ++i) probabilities[i / 4][i % 4] = pack2<T>(scores[2 * i], scores[2 * i + 1]);
    };
    pack();
    bool first = true;
    int before = tiles.begin, key0 = tiles.next(p.rows, before);
    if (key0 < tiles.end) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    while (key0 < tiles.end) {
      range_scores<Config>(scores, queries, s.k + k.stage * Config::kTileBytes);
      ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
      clear_values<Config>(p.rows, w, s.v + v.stage * Config::kTileBytes, before, group);
      range_values<Config>(out, probabilities, s.v + v.stage * Config::kTileBytes, !first);
      ahead = masks.read_ahead(p.rows, w, key0);
      ptx::wgmma_wait<1>();
      release_stage<1>(s.kEmpty + 8 * k.stage);
      k.advance();
      hide(key0, ahead);
      const bool raised = range_soften(state, scores, unit, factors);
      before = key0;
      key0 = tiles.next(p.rows, key0);
      if (key0 < tiles.end) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
      ptx::wgmma_wait<0>();
      release_stage<1>(s.vEmpty + 8 * v.stage);
      v.advance();
      if (raised) {
#pragma unroll
        for (int i = 0; i < Config::kDim / 2; ++i) out[i] *= factors[i >> 1 & 1];
      }
      pack();
      first = false;
    }
    if constexpr (!Config::kHoldsQueries) {
      release_stage<1>(s.qEmpty + 8 * q.stage);
      q.advance();
    }
    ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
    clear_values<Config>(p.rows, w, s.v + v.stage * Config::kTileBytes, before, group);
    range_values<Config>(out, probabilities, s.v + v.stage * Config::kTileBytes, !first);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.vEmpty + 8 * v.stage);
    v.advance();
    range_store<Config>(p.rows, w, state, unit, out, row);
  });
}

template <class Config> __device__ __forceinline__ void attention_range(const AttentionRangeParams& p) {
  constexpr int kConsumers = Config::kConsumers;
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) uint64_t barriers[2 * (Config::kQStages + Config::kStagesK + Config::kStagesV + kConsumers)];
  RangeShared s;
  s.q = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  s.k = s.q + Config::kQStages * Config::kQBytes;
  s.v = s.k + Config::kStagesK * Config::kTileBytes;
  s.mask = s.v + Config::kStagesV * Config::kTileBytes;
  s.qFull = shared_address(barriers);
  s.qEmpty = s.qFull + 8 * Config::kQStages;
  s.kFull = s.qEmpty + 8 * Config::kQStages;
  s.kEmpty = s.kFull + 8 * Config::kStagesK;
  s.vFull = s.kEmpty + 8 * Config::kStagesK;
  s.vEmpty = s.vFull + 8 * Config::kStagesV;
  s.maskFull = s.vEmpty + 8 * Config::kStagesV;
  s.maskEmpty = s.maskFull + 8 * kConsumers;
  if (threadIdx.x == kConsumers * 128) {
    ptx::prefetch_tensor_map(&p.q);
    ptx::prefetch_tensor_map(&p.k);
    ptx::prefetch_tensor_map(&p.v);
    if (Config::kMasked && p.maskTiles) ptx::prefetch_tensor_map(&p.mask);
  }
  if (threadIdx.x == 0) {
    const auto init = [](uint32_t full, uint32_t empty, int stages, uint32_t arrivals) {
      for (int i = 0; i < stages; ++i) {
        ptx::mbarrier_init(full + 8 * i, 1);
        ptx::mbarrier_init(empty + 8 * i, arrivals);
      }
    };
    init(s.qFull, s.qEmpty, Config::kQStages, kConsumers * 4);
    init(s.kFull, s.kEmpty, Config::kStagesK, kConsumers * 4);
    init(s.vFull, s.vEmpty, Config::kStagesV, kConsumers * 4);
    init(s.maskFull, s.maskEmpty, kConsumers, 4);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == kConsumers) {
    ptx::registers_lower<kConsumers == 3 ? 24 : 40>();
    if (threadIdx.x == kConsumers * 128) range_produce<Config>(p, s);
  } else {
    ptx::registers_raise<kConsumers == 3 ? 160 : 232>();
    range_consume<Config>(p, s, warpgroup);
  }
}

}  // namespace vd::device
