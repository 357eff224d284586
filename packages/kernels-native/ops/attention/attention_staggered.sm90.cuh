// attention on Hopper where rows see all keys, which are not many: two warpgroups whose rows end and begin at different times. Heads of up
// to kDim channels, 16 bits.
//
// Between the last products of one tile of queries and the first of the next a warpgroup computes powers, divides, stores and waits; with
// 512 keys that is a third of its time, and where warpgroups share a tile of queries the tensor cores stand still meanwhile. Here each has
// rows of its own, and the tiles of keys of a head come round and round: the second warpgroup begins its rows half a round after the first,
// so that one's rows end and begin beside the other's products. The order in which a row meets the keys does not matter.
//
//   keys that come     0 1 2 3 0 1 2 3 0 1 2 3 0 1
//   first warpgroup    [rows 0][rows 2][rows 4]
//   second warpgroup       [rows 1][rows 3][rows 5]
//
// Plan: persistent blocks of two consumer warpgroups and three warps that load: one the keys and values through two rings, the others each
// warpgroup's queries, which stand in registers while a tile of them is computed. The launch may begin before the one before it has ended
// (Launch::overlapped): barriers are made and maps fetched before this kernel waits. A block takes neighbouring tiles of 128 rows, so that
// it changes the head seldom: then the second warpgroup catches up, and half a round is lost.
#pragma once
#include "../../device/ptx/stmatrix.cuh"
#include "../../device/ptx/uniform.cuh"
#include "attention_block.sm90.cuh"

namespace vd::device {

template <class T_, int kTileIndex> struct StaggeredConfig {
  using T = T_;
  static constexpr StaggeredTile kTile = kStaggeredTiles[kTileIndex];
  static constexpr int kDim = kTile.dim, kSlices = range_slices(kDim);
  static constexpr int kStagesK = kTile.keyStages, kStagesV = kTile.valueStages;
  static constexpr int kQSlice = kBlockRows * 128, kQBytes = kSlices * kQSlice;  // of a warpgroup
  static constexpr int kTileSlice = kRangeKeys * 128, kTileBytes = kSlices * kTileSlice;  // K or V
};

/** Queries and their barriers: two places for each warpgroup, where results go, too. begun, filled: how far a block's first loads are. */
struct StaggeredShared {
  uint32_t q, k, v, qFull, qEmpty, kFull, kEmpty, vFull, vEmpty, begun, filled;
};

/** Neighbouring tiles of rows of one head and frame. */
struct RowTiles {
  int head, sequence, first, count;
};

/** Calls body(tiles) for each head and frame of which this block has rows. */
template <class Body> __device__ __forceinline__ void for_each_head(const AttentionRangeParams& p, Body&& body) {
  const int blocks = static_cast<int>(gridDim.x), share = (p.numTiles + blocks - 1) / blocks;
  const int end = min((static_cast<int>(blockIdx.x) + 1) * share, p.numTiles);
  for (int at = static_cast<int>(blockIdx.x) * share; at < end;) {
    const int headFrame = at / p.rows.numQTiles, sequence = headFrame / p.rows.heads;
    RowTiles tiles{headFrame - sequence * p.rows.heads, sequence, at - headFrame * p.rows.numQTiles, 0};
    tiles.count = min(end - at, p.rows.numQTiles - tiles.first);
    body(tiles);
    at += tiles.count;
  }
}

/** Tiles of keys, and after how many of them the second warpgroup begins: as many as an end and a beginning take. */
struct KeyRound {
  static constexpr int kMostLag = 2;
  int tiles, lag;
  __device__ __forceinline__ explicit KeyRound(const AttentionRangeParams& p)
      : tiles((p.rows.seqK + kRangeKeys - 1) / kRangeKeys), lag(min(tiles / 2, kMostLag)) {}
};

/** Loads keys and values. A launch's blocks all begin to load at once, so what is not needed first waits until what is has come. */
template <class Config> __device__ __forceinline__ void staggered_load_keys(const AttentionRangeParams& p, const StaggeredShared& s) {
  RingCursor<Config::kStagesK> k;
  RingCursor<Config::kStagesV> v;
  const KeyRound round(p);
  int loaded = 0;
  for_each_head(p, [&](const RowTiles& rows) {
    const int sequence = p.keyFrames == p.rows.frames ? rows.sequence : rows.sequence / p.rows.frames;
    int key0 = 0;
    for (int step = rows.count * round.tiles + round.lag; step > 0; --step) {
      const auto load = [&](uint32_t tiles, const TensorMap& map, uint32_t full, uint32_t empty, auto& at) {
        ptx::mbarrier_wait(empty + 8 * at.stage, at.parity ^ 1);
        ptx::mbarrier_arrive_expect_tx(full + 8 * at.stage, Config::kTileBytes);
        BlockLoader<Config>::load(tiles + at.stage * Config::kTileBytes, Config::kTileSlice, map, full + 8 * at.stage, rows.head, key0,
                                  sequence);
        at.advance();
      };
      load(s.k, p.k, s.kFull, s.kEmpty, k);
      if (loaded == 0) {
        ptx::mbarrier_wait(s.kFull, 0);
        ptx::mbarrier_arrive(s.begun);
      }
      // The first tile of keys has been multiplied.
      if (loaded == Config::kStagesK) ptx::mbarrier_arrive(s.filled);
      load(s.v, p.v, s.vFull, s.vEmpty, v);
      ++loaded;
      key0 += kRangeKeys;
      if (key0 >= p.rows.seqK) key0 = 0;
    }
  });
  if (loaded == 0) ptx::mbarrier_arrive(s.begun);
  if (loaded <= Config::kStagesK) ptx::mbarrier_arrive(s.filled);
}

/** Of a warpgroup: a place of queries, its barriers, and the next one's. */
template <class Config> struct QueryPlaces {
  uint32_t q, full, empty;
  RingCursor<2> at;
  __device__ __forceinline__ QueryPlaces(const StaggeredShared& s, int group)
      : q(s.q + 2 * group * Config::kQBytes), full(s.qFull + 16 * group), empty(s.qEmpty + 16 * group) {}
  __device__ __forceinline__ uint32_t tile() const { return q + at.stage * Config::kQBytes; }
  __device__ __forceinline__ uint32_t full_now() const { return full + 8 * at.stage; }
  __device__ __forceinline__ uint32_t empty_now() const { return empty + 8 * at.stage; }
  __device__ __forceinline__ uint32_t empty_before() const { return empty + 8 * (at.stage ^ 1); }
};

/** The first query row of a warpgroup's i-th tile. */
__device__ __forceinline__ int staggered_row(const RowTiles& rows, int i, int group) {
  return (rows.first + i) * kStaggeredRows + group * kBlockRows;
}

template <class Config>
__device__ __forceinline__ void staggered_load_queries(const AttentionRangeParams& p, const StaggeredShared& s, int group) {
  QueryPlaces<Config> places(s, group);
  bool isFirst = true;
  for_each_head(p, [&](const RowTiles& rows) {
    for (int i = 0; i < rows.count; ++i) {
      if (!isFirst) ptx::mbarrier_wait(s.filled, 0);
      else if (group > 0) ptx::mbarrier_wait(s.begun, 0);
      isFirst = false;
      ptx::mbarrier_wait(places.empty_now(), places.at.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(places.full_now(), Config::kQBytes);
      BlockLoader<Config>::load(places.tile(), Config::kQSlice, p.q, places.full_now(), rows.head, staggered_row(rows, i, group),
                                rows.sequence);
      places.at.advance();
    }
  });
}

/** Divides by the sums, puts a warpgroup's results where its queries were, and starts storing them. */
template <class Config>
__device__ __forceinline__ void staggered_store(const AttentionRangeParams& p, const Work& w, const RangeState& state, float scale,
                                                const float (&out)[Config::kDim / 2], uint32_t tile, int group) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 31, warp = threadIdx.x % 128 / 32;
  float inverse[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sums[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    inverse[r] = sum > 0.0f ? ptx::reciprocal_approx(sum) : 0.0f;
    const int row = w.row0 + warp * 16 + lane / 4 + 8 * r;
    if (row < w.rowEnd && lane % 4 == 0) store_lse(p.rows, w, row, state.maxima[r] * scale, sum);
  }
  // All warps have read the queries.
  __syncwarp();
  ptx::named_barrier(1 + group, 128);
  // Of two groups of eight channels a lane gives a row's place: rows 0-7 and 8-15 of the first, then of the second.
  const int row = warp * 16 + lane % 16, odd = lane / 16;
  const uint32_t at = tile + row * 128;
#pragma unroll
  for (int c = 0; c < Config::kDim / 8; c += 2) {
    const float* o = out + 4 * c;
    ptx::stmatrix_x4(at + c / 8 * Config::kQSlice + ((c % 8 + odd) ^ (row & 7)) * 16, pack2<T>(o[0] * inverse[0], o[1] * inverse[0]),
                     pack2<T>(o[2] * inverse[1], o[3] * inverse[1]), pack2<T>(o[4] * inverse[0], o[5] * inverse[0]),
                     pack2<T>(o[6] * inverse[1], o[7] * inverse[1]));
  }
  ptx::fence_proxy_async();
  __syncwarp();
  ptx::named_barrier(1 + group, 128);
  if (threadIdx.x % 128 == 0) {
#pragma unroll
    for (int i = 0; i < Config::kSlices; ++i)
      ptx::tma_store_4d(&p.y, tile + i * Config::kQSlice, 64 * i, w.head, w.row0, w.batch * p.rows.frames + w.frame);
    ptx::bulk_commit();
  }
}

template <class Config>
__device__ __forceinline__ void staggered_consume(const AttentionRangeParams& p, const StaggeredShared& s, int group) {
  using T = typename Config::T;
  RingCursor<Config::kStagesK> k;
  RingCursor<Config::kStagesV> v;
  QueryPlaces<Config> places(s, group);
  const KeyRound round(p);
  const float unit = p.rows.scale * kLog2e;
  const auto await_keys = [&] { ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity); };
  const auto await_values = [&] { ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity); };
  const auto release_keys = [&] {
    release_stage<1>(s.kEmpty + 8 * k.stage);
    k.advance();
  };
  const auto release_values = [&] {
    release_stage<1>(s.vEmpty + 8 * v.stage);
    v.advance();
  };
  // Tiles of keys that only the other warpgroup needs.
  const auto pass = [&] {
    for (int i = 0; i < round.lag; ++i) {
      await_keys();
      release_keys();
      await_values();
      release_values();
    }
  };
  bool stores = false;  // this thread has started to store a tile that still takes its place
  for_each_head(p, [&](const RowTiles& rows) {
    const int frame = rows.sequence % p.rows.frames, batch = rows.sequence / p.rows.frames;
    if (group == 1) pass();
    for (int i = 0; i < rows.count; ++i) {
      RangeState state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
      float scores[64], out[Config::kDim / 2] = {}, factors[2];
      uint32_t probabilities[8][4];
      int key0 = group * round.lag * kRangeKeys;
      const auto pack = [&] {
#pragma unroll
        for (int j = 0; j < 32; ++j) probabilities[j / 4][j % 4] = pack2<T>(scores[2 * j], scores[2 * j + 1]);
      };
      HeldQueries<Config> queries;
      ptx::mbarrier_wait(places.full_now(), places.at.parity);
      queries.read(places.tile());
      await_keys();
      range_scores<Config>(scores, queries, s.k + k.stage * Config::kTileBytes);
      if (stores) {
        ptx::bulk_wait_read();
        ptx::mbarrier_arrive(places.empty_before());
      }
      __syncwarp();
      ptx::wgmma_wait<0>();
      release_keys();
      hide_behind(scores, p.rows.seqK - key0);
      range_soften(state, scores, unit, factors);
      pack();
      if (round.tiles > 1) await_keys();
#pragma unroll 1
      for (int step = 1; step < round.tiles; ++step) {
        key0 = key0 + kRangeKeys < p.rows.seqK ? key0 + kRangeKeys : 0;
        range_scores<Config>(scores, queries, s.k + k.stage * Config::kTileBytes);
        await_values();
        range_values<Config>(out, probabilities, s.v + v.stage * Config::kTileBytes, step > 1);
        ptx::wgmma_wait<1>();
        release_keys();
        hide_behind(scores, p.rows.seqK - key0);
        const bool raised = range_soften(state, scores, unit, factors);
        if (step + 1 < round.tiles) await_keys();
        ptx::wgmma_wait<0>();
        release_values();
        if (raised) {
#pragma unroll
          for (int j = 0; j < Config::kDim / 2; ++j) out[j] *= factors[j >> 1 & 1];
        }
        pack();
      }
      await_values();
      range_values<Config>(out, probabilities, s.v + v.stage * Config::kTileBytes, round.tiles > 1);
      ptx::wgmma_wait<0>();
      release_values();
      const Work w{staggered_row(rows, i, group), p.rows.seqQ, 0, p.rows.seqK, 0, rows.head, frame, batch};
      staggered_store<Config>(p, w, state, unit, out, places.tile(), group);
      stores = threadIdx.x % 128 == 0;
      places.at.advance();
    }
    if (group == 0) pass();
  });
  if (stores) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void attention_staggered(const AttentionRangeParams& p) {
  begin_next_launch();
  extern __shared__ __align__(1024) uint8_t dynamicShared[];
  StaggeredShared s;
  s.q = ptx::warp_uniform(shared_address(dynamicShared));
  s.k = s.q + 4 * Config::kQBytes;
  s.v = s.k + Config::kStagesK * Config::kTileBytes;
  s.qFull = s.v + Config::kStagesV * Config::kTileBytes;
  s.qEmpty = s.qFull + 32;
  s.kFull = s.qEmpty + 32;
  s.kEmpty = s.kFull + 8 * Config::kStagesK;
  s.vFull = s.kEmpty + 8 * Config::kStagesK;
  s.vEmpty = s.vFull + 8 * Config::kStagesV;
  s.begun = s.vEmpty + 8 * Config::kStagesV;
  s.filled = s.begun + 8;
  if (threadIdx.x == 256) {
    ptx::prefetch_tensor_map(&p.q);
    ptx::prefetch_tensor_map(&p.k);
    ptx::prefetch_tensor_map(&p.v);
  }
  if (threadIdx.x == 0) {
    const auto init = [](uint32_t full, uint32_t empty, int stages, uint32_t arrivals) {
      for (int i = 0; i < stages; ++i) {
        ptx::mbarrier_init(full + 8 * i, 1);
        ptx::mbarrier_init(empty + 8 * i, arrivals);
      }
    };
    init(s.qFull, s.qEmpty, 4, 1);
    init(s.kFull, s.kEmpty, Config::kStagesK, 8);
    init(s.vFull, s.vEmpty, Config::kStagesV, 8);
    ptx::mbarrier_init(s.begun, 1);
    ptx::mbarrier_init(s.filled, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  await_results_before();
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == 2) {
    ptx::registers_lower<40>();
    if (threadIdx.x == 256) staggered_load_keys<Config>(p, s);
    else if (threadIdx.x == 288 || threadIdx.x == 320) staggered_load_queries<Config>(p, s, threadIdx.x / 32 - 9);
  } else {
    ptx::registers_raise<232>();
    staggered_consume<Config>(p, s, warpgroup);
  }
}

}  // namespace vd::device
