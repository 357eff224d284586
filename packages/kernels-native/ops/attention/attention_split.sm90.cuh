// attention on Hopper where tiles of queries are fewer than multiprocessors and keys are many: the warpgroups of a block share 64 rows,
// each sees a part of the keys. Heads of up to kDim channels, 16 bits.
//
// With a row's keys one after the other such a launch takes as long as one row does, while most of the device stands still. Tiles of keys
// come through one ring and go to the warpgroups in turn, so that one's products run beside another's powers and a row is done in a half or
// a third of the steps. Then parts are put together: of each row (maximum, sum) and sums of values, by exp2(maximum - largest).
//
//   keys that come     0 1 2 3 4 5 6 7 8
//   warpgroup 0        0     3     6      ┐
//   warpgroup 1          1     4     7    ├─► parts to shared memory ─► each adds up some of the channels, divides, stores
//   warpgroup 2            2     5     8  ┘
//
// Plan: one tile of 64 queries a block, a further warp loads. Results depend on how keys are divided, so this is no variant where bits may
// not depend on the number of frames.
//
// Why, and what it was measured by: docs/kernels/attention.md.
#pragma once
#include "../../device/ptx/cluster.cuh"
#include "../../device/ptx/uniform.cuh"
#include "attention_block.sm90.cuh"

namespace vd::device {

template <class T_, int kTileIndex> struct SplitConfig {
  using T = T_;
  static constexpr SplitTile kTile = kSplitTiles[kTileIndex];
  static constexpr int kDim = kTile.dim, kSlices = range_slices(kDim), kParts = kTile.parts, kStages = kTile.stages;
  static constexpr int kQSlice = kBlockRows * 128, kQBytes = kSlices * kQSlice;
  static constexpr int kTileSlice = kRangeKeys * 128, kTileBytes = kSlices * kTileSlice;  // K or V
  /** Runs of 32 channels, which one warpgroup adds up, and bytes of the sums of one. */
  static constexpr int kRuns = (kDim + 31) / 32, kRunBytes = kBlockRows * 32 * 4;
  static_assert(kParts <= kStages, "a warpgroup's next tile lies in another stage, or in the same one round later");
  static_assert(kParts * kRuns * kRunBytes <= 2 * kStages * kTileBytes, "parts lie where keys and values were");
};

/** Keys and values lie behind each other, and so do their barriers; sums: (maximum, sum) of each part's rows. */
struct SplitShared {
  uint32_t q, k, v, qFull, kFull, kEmpty, vFull, vEmpty, sums;
};

/** The tiles of keys of a warpgroup: every kParts-th. */
template <class Config> struct SplitCursor {
  int stage;
  uint32_t parity = 0;
  __device__ __forceinline__ explicit SplitCursor(int part) : stage(part) {}
  __device__ __forceinline__ void advance() {
    stage += Config::kParts;
    if (stage >= Config::kStages) {
      stage -= Config::kStages;
      parity ^= 1;
    }
  }
};

template <class Config>
__device__ __forceinline__ void split_load(const AttentionRangeParams& p, const SplitShared& s, const BlockStep& place) {
  RingCursor<Config::kStages> k, v;
  const int tiles = (p.rows.seqK + kRangeKeys - 1) / kRangeKeys;
  const auto load = [&](uint32_t ring, const TensorMap& map, uint32_t full, uint32_t empty, auto& at, int tile) {
    ptx::mbarrier_wait(empty + 8 * at.stage, at.parity ^ 1);
    ptx::mbarrier_arrive_expect_tx(full + 8 * at.stage, Config::kTileBytes);
    BlockLoader<Config>::load(ring + at.stage * Config::kTileBytes, Config::kTileSlice, map, full + 8 * at.stage, place.head,
                              tile * kRangeKeys, place.keySequence);
    at.advance();
  };
  ptx::mbarrier_arrive_expect_tx(s.qFull, Config::kQBytes);
  BlockLoader<Config>::load(s.q, Config::kQSlice, p.q, s.qFull, place.head, place.row0, place.sequence);
  // Every part's first keys go ahead of all values.
  for (int tile = 0; tile < min(tiles, Config::kParts); ++tile) load(s.k, p.k, s.kFull, s.kEmpty, k, tile);
  for (int tile = 0; tile < tiles; ++tile) {
    load(s.v, p.v, s.vFull, s.vEmpty, v, tile);
    if (tile + Config::kParts < tiles) load(s.k, p.k, s.kFull, s.kEmpty, k, tile + Config::kParts);
  }
}

/** A part of the sums of a thread's two rows, over some of the keys: there are tiles for all parts. */
template <class Config> struct SplitPart {
  RangeState state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  float out[Config::kDim / 2] = {};
};

template <class Config>
__device__ __forceinline__ void split_multiply(const AttentionRangeParams& p, const SplitShared& s, int part, float unit,
                                               SplitPart<Config>& sums) {
  using T = typename Config::T;
  SplitCursor<Config> k(part), v(part);
  float scores[64], factors[2];
  uint32_t probabilities[8][4];
  int key0 = part * kRangeKeys;
  const auto await_keys = [&] { ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity); };
  const auto release_keys = [&] {
    release_stage<1>(s.kEmpty + 8 * k.stage);
    k.advance();
  };
  const auto issue_values = [&](bool accumulate) {
    ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
    range_values<Config>(sums.out, probabilities, s.v + v.stage * Config::kTileBytes, accumulate);
  };
  const auto release_values = [&] {
    release_stage<1>(s.vEmpty + 8 * v.stage);
    v.advance();
  };
  const auto pack = [&] {
#pragma unroll
    for (int i = 0; i < 32; ++i) probabilities[i / 4][i % 4] = pack2<T>(scores[2 * i], scores[2 * i + 1]);
  };
  ptx::mbarrier_wait(s.qFull, 0);
  await_keys();
  range_scores<Config>(scores, s.q, s.k + k.stage * Config::kTileBytes);
  ptx::wgmma_wait<0>();
  release_keys();
  hide_behind(scores, p.rows.seqK - key0);
  range_soften(sums.state, scores, unit, factors);
  pack();
#pragma unroll 1
  for (key0 += Config::kParts * kRangeKeys; key0 < p.rows.seqK; key0 += Config::kParts * kRangeKeys) {
    await_keys();
    range_scores<Config>(scores, s.q, s.k + k.stage * Config::kTileBytes);
    issue_values(key0 >= (part + 2 * Config::kParts) * kRangeKeys);
    ptx::wgmma_wait<1>();
    release_keys();
    hide_behind(scores, p.rows.seqK - key0);
    const bool raised = range_soften(sums.state, scores, unit, factors);
    ptx::wgmma_wait<0>();
    release_values();
    if (raised) {
#pragma unroll
      for (int i = 0; i < Config::kDim / 2; ++i) sums.out[i] *= factors[i >> 1 & 1];
    }
    pack();
  }
  issue_values((part + Config::kParts) * kRangeKeys < p.rows.seqK);
  ptx::wgmma_wait<0>();
  release_values();
}

/** What each part of a thread's two rows is multiplied with to be relative to the largest maximum, that, and the sums of all. */
template <class Config> struct SplitRows {
  float factors[Config::kParts][2], maxima[2], sums[2];

  __device__ __forceinline__ SplitRows(uint32_t parts, int row, float unit) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float2 part[Config::kParts];
      maxima[r] = -INFINITY;
      sums[r] = 0.0f;
#pragma unroll
      for (int i = 0; i < Config::kParts; ++i) {
        part[i] = ptx::load_shared8(parts + (i * kBlockRows + row + 8 * r) * 8);
        maxima[r] = fmaxf(maxima[r], part[i].x);
      }
#pragma unroll
      for (int i = 0; i < Config::kParts; ++i) {
        factors[i][r] = part[i].x == -INFINITY ? 0.0f : ptx::exp2_approx((part[i].x - maxima[r]) * unit);
        sums[r] += factors[i][r] * part[i].y;
      }
    }
  }
};

__device__ __forceinline__ void store_floats(uint32_t address, const float* v) {
  ptx::store_shared16(address, make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3])));
}
__device__ __forceinline__ float4 load_floats(uint32_t address) {
  const uint4 v = ptx::load_shared16(address);
  return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w));
}

/** Puts the parts together. Each warpgroup does so for every kParts-th run of channels, and gives its sums of the others away. */
template <class Config>
__device__ __forceinline__ void split_merge(const AttentionRangeParams& p, const SplitShared& s, const Work& w, int part, float unit,
                                            SplitPart<Config>& sums) {
  constexpr int kThreads = Config::kParts * 128;
  const int thread = threadIdx.x % 128, row = thread / 32 * 16 + (thread & 31) / 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = sums.state.sums[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (thread % 4 == 0) ptx::store_shared8(s.sums + (part * kBlockRows + row + 8 * r) * 8, sums.state.maxima[r], sum);
  }
  ptx::named_barrier(1, kThreads);  // all have read their last keys and values: parts may lie there
  const auto place = [&](int from, int run, int i) { return s.k + ((from * Config::kRuns + run) * 4 + i) * 128 * 16 + thread * 16; };
  const auto quads = [](int run) { return min(4, Config::kDim / 8 - 4 * run); };
#pragma unroll
  for (int run = 0; run < Config::kRuns; ++run) {
    if (run % Config::kParts == part) continue;
#pragma unroll
    for (int i = 0; i < quads(run); ++i) {
      const float* o = sums.out + (run * 4 + i) * 4;
      store_floats(place(part, run, i), o);
    }
  }
  ptx::named_barrier(1, kThreads);
  const SplitRows<Config> rows(s.sums, row, unit);
  auto* y = static_cast<typename Config::T*>(const_cast<void*>(p.rows.y.data)) +
            sequence_base(p.rows.y, w.batch, w.frame, w.head, p.rows.dim) + (w.row0 + row) * p.rows.y.row;
#pragma unroll
  for (int run = 0; run < Config::kRuns; ++run) {
    if (run % Config::kParts != part) continue;
    float all[16] = {};
#pragma unroll
    for (int from = 0; from < Config::kParts; ++from)
#pragma unroll
      for (int i = 0; i < quads(run); ++i) {
        const float* o = sums.out + (run * 4 + i) * 4;
        const float4 v = from == part ? make_float4(o[0], o[1], o[2], o[3]) : load_floats(place(from, run, i));
        all[4 * i] += v.x * rows.factors[from][0];
        all[4 * i + 1] += v.y * rows.factors[from][0];
        all[4 * i + 2] += v.z * rows.factors[from][1];
        all[4 * i + 3] += v.w * rows.factors[from][1];
      }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float inverse = rows.sums[r] > 0.0f ? ptx::reciprocal_approx(rows.sums[r]) : 0.0f;
      range_store_run<Config>(y + 8 * r * p.rows.y.row, all + 2 * r, inverse, run, w.row0 + row + 8 * r < w.rowEnd, p.rows.dim);
    }
  }
  if (part != 0 || thread % 4 != 0) return;
#pragma unroll
  for (int r = 0; r < 2; ++r)
    if (w.row0 + row + 8 * r < w.rowEnd) store_lse(p.rows, w, w.row0 + row + 8 * r, rows.maxima[r] * unit, rows.sums[r]);
}

template <class Config> __device__ __forceinline__ void attention_split(const AttentionRangeParams& p) {
  extern __shared__ __align__(1024) uint8_t dynamicShared[];
  SplitShared s;
  s.q = ptx::warp_uniform(shared_address(dynamicShared));
  s.k = s.q + Config::kQBytes;
  s.v = s.k + Config::kStages * Config::kTileBytes;
  s.sums = s.v + Config::kStages * Config::kTileBytes;
  s.qFull = s.sums + Config::kParts * kBlockRows * 8;
  s.kFull = s.qFull + 8;
  s.kEmpty = s.kFull + 8 * Config::kStages;
  s.vFull = s.kEmpty + 8 * Config::kStages;
  s.vEmpty = s.vFull + 8 * Config::kStages;
  begin_next_launch();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(s.qFull, 1);
    for (int i = 0; i < Config::kStages; ++i) {
      ptx::mbarrier_init(s.kFull + 8 * i, 1);
      ptx::mbarrier_init(s.vFull + 8 * i, 1);
      ptx::mbarrier_init(s.kEmpty + 8 * i, 4);
      ptx::mbarrier_init(s.vEmpty + 8 * i, 4);
    }
    ptx::fence_mbarrier_init();
  }
  const int warpgroup = ptx::warpgroup_index();
  if (threadIdx.x == Config::kParts * 128) {
    ptx::prefetch_tensor_map(&p.q);
    ptx::prefetch_tensor_map(&p.k);
    ptx::prefetch_tensor_map(&p.v);
  }
  await_results_before();
  __syncthreads();
  BlockStep place;
  place.begin(p, static_cast<int>(blockIdx.x));
  if (warpgroup == Config::kParts) {
    ptx::registers_lower<Config::kParts == 3 ? 24 : 40>();
    if (threadIdx.x == Config::kParts * 128) split_load<Config>(p, s, place);
    return;
  }
  ptx::registers_raise<Config::kParts == 3 ? 160 : 232>();
  const float unit = p.rows.scale * kLog2e;
  SplitPart<Config> sums;
  split_multiply<Config>(p, s, warpgroup, unit, sums);
  const int frame = place.sequence % p.rows.frames, batch = place.sequence / p.rows.frames;
  const Work w{place.row0, p.rows.seqQ, 0, p.rows.seqK, 0, place.head, frame, batch};
  split_merge<Config>(p, s, w, warpgroup, unit, sums);
}

}  // namespace vd::device
