// attention on Hopper in small blocks: one warpgroup with 64 query rows, which see all keys; heads of up to kDim channels, 16 bits.
//
// Plan: two or three blocks of a multiprocessor know nothing of each other, so that one's products run beside another's powers, also where
// a tile of queries begins and ends; with few keys that is much of the work. A block is persistent and has room for one tile of queries,
// one of keys and two of values: what comes next, of the next tile of queries too, is on its way as soon as its place is free. There is no
// producer: a fifth warp would leave fewer registers to all.
//
//   S = Q · K(n)ᵀ  beside  O += P · V(n - 1)
//   Q and K are free ──► load K(n + 1), with the next tile's Q
//   softmax of S beside the values' products
//   V(n - 1) is free ──► load V(n + 1)
//
// Why, and what it was measured by: docs/kernels/attention.md.
#pragma once
#include "attention_range.sm90.cuh"

namespace vd::device {

template <class T_, int kTileIndex> struct BlockConfig {
  using T = T_;
  static constexpr BlockTile kTile = kBlockTiles[kTileIndex];
  static constexpr int kDim = kTile.dim, kSlices = range_slices(kDim);
  static constexpr int kQSlice = kBlockRows * 128, kQBytes = kSlices * kQSlice;
  static constexpr int kTileSlice = kRangeKeys * 128, kTileBytes = kSlices * kTileSlice;
};

struct BlockShared {
  uint32_t q, k, v, keysFull, valuesFull;
};

/** A tile of keys of a tile of queries, and where its operands lie: what a block computes in a step. Found once for each tile of queries,
 *  since the one thread that loads computes with all others. */
struct BlockStep {
  int tile, key0, head, row0, sequence, keySequence;

  __device__ __forceinline__ void begin(const AttentionRangeParams& p, int at) {
    tile = at;
    key0 = 0;
    const int headFrame = tile / p.rows.numQTiles;
    row0 = (tile - headFrame * p.rows.numQTiles) * kBlockRows;
    sequence = headFrame / p.rows.heads;
    head = headFrame - sequence * p.rows.heads;
    keySequence = p.keyFrames == p.rows.frames ? sequence : sequence / p.rows.frames;
  }
  __device__ __forceinline__ void advance(const AttentionRangeParams& p) {
    key0 += kRangeKeys;
    if (key0 >= p.rows.seqK) begin(p, tile + gridDim.x);
  }
};

/** What thread 0 loads, ahead of what all compute. */
template <class Config> struct BlockLoader {
  BlockStep keys, values;
  uint32_t valuesSlot = 0;

  __device__ __forceinline__ static void load(uint32_t to, int sliceBytes, const TensorMap& map, uint32_t full, int head, int row,
                                              int sequence) {
#pragma unroll
    for (int i = 0; i < Config::kSlices; ++i) ptx::tma_load_4d(to + i * sliceBytes, &map, full, 64 * i, head, row, sequence);
  }
  /** The next tile of keys, and the queries that it begins with. */
  __device__ __forceinline__ void next_keys(const AttentionRangeParams& p, const BlockShared& s) {
    if (keys.tile >= p.numTiles) return;
    ptx::mbarrier_arrive_expect_tx(s.keysFull, Config::kTileBytes + (keys.key0 == 0 ? Config::kQBytes : 0));
    load(s.k, Config::kTileSlice, p.k, s.keysFull, keys.head, keys.key0, keys.keySequence);
    if (keys.key0 == 0) load(s.q, Config::kQSlice, p.q, s.keysFull, keys.head, keys.row0, keys.sequence);
    keys.advance(p);
  }
  __device__ __forceinline__ void next_values(const AttentionRangeParams& p, const BlockShared& s) {
    if (values.tile >= p.numTiles) return;
    const uint32_t full = s.valuesFull + 8 * valuesSlot;
    ptx::mbarrier_arrive_expect_tx(full, Config::kTileBytes);
    load(s.v + valuesSlot * Config::kTileBytes, Config::kTileSlice, p.v, full, values.head, values.key0, values.keySequence);
    valuesSlot ^= 1;
    values.advance(p);
  }
};

/** Scores of keys that there are not, in the last tile. */
__device__ __forceinline__ void hide_behind(float (&scores)[64], int valid) {
  if (valid >= kRangeKeys) return;
  const int column = 2 * (threadIdx.x & 3);
#pragma unroll
  for (int i = 0; i < 64; ++i)
    if (i / 4 * 8 + column + (i & 1) >= valid) scores[i] = -INFINITY;
}

template <class Config> __device__ __forceinline__ void attention_block(const AttentionRangeParams& p) {
  using T = typename Config::T;
  extern __shared__ __align__(1024) uint8_t dynamicShared[];
  BlockShared s;
  s.q = ptx::warp_uniform(shared_address(dynamicShared));
  s.k = s.q + Config::kQBytes;
  s.v = s.k + Config::kTileBytes;
  s.keysFull = s.v + 2 * Config::kTileBytes;
  s.valuesFull = s.keysFull + 8;
  const int firstTile = static_cast<int>(blockIdx.x);
  BlockLoader<Config> loader;
  const bool loads = threadIdx.x == 0;
  if (loads) {
    ptx::mbarrier_init(s.keysFull, 1);
    ptx::mbarrier_init(s.valuesFull, 1);
    ptx::mbarrier_init(s.valuesFull + 8, 1);
    ptx::fence_mbarrier_init();
    loader.keys.begin(p, firstTile);
    loader.values = loader.keys;
    loader.next_keys(p, s);
    loader.next_values(p, s);
    loader.next_values(p, s);
  }
  __syncthreads();
  const float unit = p.rows.scale * kLog2e;
  RingCursor<1> k;
  RingCursor<2> v;
  for (int tile = firstTile; tile < p.numTiles; tile += gridDim.x) {
    RangeState state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
    float scores[64], out[Config::kDim / 2] = {}, factors[2];
    uint32_t probabilities[8][4];
    const auto take_keys = [&] {
      __syncthreads();  // all warps have read them
      k.advance();
      if (loads) loader.next_keys(p, s);
    };
    const auto take_values = [&] {
      __syncthreads();
      v.advance();
      if (loads) loader.next_values(p, s);
    };
    const auto pack = [&] {
#pragma unroll
      for (int i = 0; i < 32; ++i) probabilities[i / 4][i % 4] = pack2<T>(scores[2 * i], scores[2 * i + 1]);
    };
    ptx::mbarrier_wait(s.keysFull, k.parity);
    range_scores<Config>(scores, s.q, s.k);
    ptx::wgmma_wait<0>();
    take_keys();
    hide_behind(scores, p.rows.seqK);
    range_soften(state, scores, unit, factors);
    pack();
#pragma unroll 1
    for (int key0 = kRangeKeys; key0 < p.rows.seqK; key0 += kRangeKeys) {
      ptx::mbarrier_wait(s.keysFull, k.parity);
      range_scores<Config>(scores, s.q, s.k);
      ptx::mbarrier_wait(s.valuesFull + 8 * v.stage, v.parity);
      range_values<Config>(out, probabilities, s.v + v.stage * Config::kTileBytes, key0 > kRangeKeys);
      ptx::wgmma_wait<1>();
      take_keys();
      hide_behind(scores, p.rows.seqK - key0);
      const bool raised = range_soften(state, scores, unit, factors);
      ptx::wgmma_wait<0>();
      take_values();
      if (raised) {
#pragma unroll
        for (int i = 0; i < Config::kDim / 2; ++i) out[i] *= factors[i >> 1 & 1];
      }
      pack();
    }
    ptx::mbarrier_wait(s.valuesFull + 8 * v.stage, v.parity);
    range_values<Config>(out, probabilities, s.v + v.stage * Config::kTileBytes, p.rows.seqK > kRangeKeys);
    ptx::wgmma_wait<0>();
    take_values();
    BlockStep done;
    done.begin(p, tile);
    const int frame = done.sequence % p.rows.frames, batch = done.sequence / p.rows.frames;
    const Work w{done.row0, p.rows.seqQ, 0, p.rows.seqK, 0, done.head, frame, batch};
    range_store<Config>(p.rows, w, state, unit, out, w.row0 + threadIdx.x / 32 * 16 + (threadIdx.x & 31) / 4);
  }
}

}  // namespace vd::device
