// The Hopper matrix core where tiles are too few to fill the device: the blocks of a cluster share one tile, and each adds up its
// part of the reduction. Partial sums meet in shared memory, where every block finishes its share of the rows.
//
//   block r of S: blocks [K·r/S, K·(r+1)/S) of the reduction ──► sums to shared memory, over the ring ──► cluster barrier
//                 rows [M·r/S, M·(r+1)/S) of all S blocks' sums, added from block r on around ──► epilogue, stores
//
// Sums of other blocks come slowly, 10 to 14 bytes a cycle, and from one block all at once more slowly still: so each begins with its own.
// What the epilogue reads is asked for before the products, behind which one load would wait for the other.
//
// Of 8-bit operands each block promotes the sums of its part as the other tiles do (matmul_sm90_scaled.cuh); scales of pixels and
// columns follow once a sum is whole.
//
// Bits follow from S, and the planner chooses S by the number of tiles: plans that are batch-invariant do not have this.
// Measured: docs/kernels/matmul_sm90.md.
#pragma once
#include "epilogue.cuh"
#include "matmul_sm90.cuh"
#include "ptx/cluster.cuh"

namespace vd::device {

/** Where a row of sums has the first four columns of every eight, and behind them the last four: lanes that read vectors side by side
 *  use different banks, and so do the rows of a warp's fragment. In floats. */
template <class Config> inline constexpr int kSumsHalf = Config::kTileN / 2 + 4;
template <class Config> inline constexpr int kSumsPitch = 2 * kSumsHalf<Config>;

/** Where a block of the reduction lies in the weights. Advances without divisions: the producer is one thread, and what it computes
 *  between two loads takes time from both. */
template <class Config> struct SplitWeights {
  int c, tap;
  bool second;

  __device__ __forceinline__ SplitWeights(const MatmulSm90Params& p, int k) : second(k >= p.numKBlocks1) {
    tap = second ? 0 : k / p.blocksPerTap;
    c = second ? p.channels + (k - p.numKBlocks1) * Config::kBlock : (k - tap * p.blocksPerTap) * Config::kBlock;
  }
  __device__ __forceinline__ void advance(const MatmulSm90Params& p) {
    c += Config::kBlock;
    if (second || c < p.blocksPerTap * Config::kBlock) return;
    c = 0;
    if (++tap < p.kernel[0] * p.kernel[1] * p.kernel[2]) return;
    second = true;
    tap = 0;
    c = p.channels;
  }
};

/** Where a block of the reduction lies in the pixels, from the first tap of the tile's box on. */
template <class Config> struct SplitPixels {
  int c, w, h, f;
  bool second;

  __device__ __forceinline__ SplitPixels(const MatmulSm90Params& p, int k) : w(0), h(0), f(0), second(k >= p.numKBlocks1) {
    const SplitWeights<Config> first(p, k);
    c = second ? (k - p.numKBlocks1) * Config::kBlock : first.c;
    w = first.tap % p.kernel[2];
    h = first.tap / p.kernel[2] % p.kernel[1];
    f = first.tap / (p.kernel[2] * p.kernel[1]);
  }
  __device__ __forceinline__ void advance(const MatmulSm90Params& p) {
    c += Config::kBlock;
    if (second || c < p.blocksPerTap * Config::kBlock) return;
    c = 0;
    if (++w < p.kernel[2]) return;
    w = 0;
    if (++h < p.kernel[1]) return;
    h = 0;
    if (++f < p.kernel[0]) return;
    f = 0;
    second = true;
  }
};

/** The producer thread: blocks [first, end) of the reduction of one tile. Weights that nothing writes fill the ring before the launch
 *  before this one has ended. */
template <class Config>
__device__ __forceinline__ void matmul_split_produce(const MatmulSm90Params& p, const MatmulShared<Config>& shared,
                                                     const MatmulTileIndex& index, int first, int end) {
  const PixelBox box = tile_box<Config>(p, index.m);
  const bool phases = p.numPhases == 4;
  const int w0 = box.w * p.stride[2] - (phases ? 1 - (index.phase & 1) : p.padding[2]);
  const int h0 = box.h * p.stride[1] - (phases ? 1 - (index.phase >> 1) : p.padding[1]);
  const int f0 = box.f * p.stride[0] - p.padding[0], row = index.n * Config::kTileN;
  SplitWeights<Config> weights(p, first);
  const auto load_weights = [&](const RingCursor<Config::kStages>& at) {
    const uint32_t full = expect_bytes(shared, at, p.aBytes + Config::kStageBytesB);
    matmul_load_b<Config>(p, shared.b(at.stage), full, weights.c, weights.tap, row, index.phase, 0);
    weights.advance(p);
  };
  const int ahead = p.constantWeights ? min(end, first + Config::kStages) : first;
  RingCursor<Config::kStages> early{0, 1};
#pragma unroll 1
  for (int k = first; k < ahead; ++k, early.advance()) load_weights(early);
  await_results_before();
  SplitPixels<Config> pixels(p, first);
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int k = first; k < end; ++k, at.advance()) {
    if (k >= ahead) {
      await_free(shared, at);
      load_weights(at);
    }
    const TensorMap& map = pixels.second ? p.a2 : p.a;
    ptx::tma_load_5d(shared.a(at.stage), &map, shared.full_at(at.stage), pixels.c, w0 + pixels.w, h0 + pixels.h, f0 + pixels.f, box.b);
    pixels.advance(p);
  }
}

/** Stores a warpgroup's sums as rows of floats from `sums` on. */
template <class Config, class Sum>
__device__ __forceinline__ void matmul_put_sums(const Sum (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2], int rowOffset,
                                                uint32_t sums) {
  const int lane = threadIdx.x & 31, row = rowOffset + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
    for (int n = 0; n < Config::kColBlocks; ++n)
#pragma unroll
      for (int block = 0; block < Config::kWidth / 8; ++block)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const Sum* v = acc[m][n] + block * 4 + 2 * part;
          const int at = (row + 64 * m + 8 * part) * kSumsPitch<Config> + (lane >> 1 & 1) * kSumsHalf<Config> +
                         (n * Config::kWidth + 8 * block) / 2 + 2 * (lane & 1);
          ptx::store_shared8(sums + 4 * at, matmul_float(v[0]), matmul_float(v[1]));
        }
}

/** A consumer warpgroup's part of the work: its rows of the products of blocks [first, end), as floats from shared.ring on. With 8-bit
 *  operands these are sums of codes, or with scales of blocks what codes and scales stand for. */
template <class Config>
__device__ __forceinline__ void matmul_split_multiply(const MatmulSm90Params& p, const MatmulShared<Config>& shared,
                                                      const MatmulTileIndex& index, int rowOffset, int first, int end) {
  constexpr bool kPromoted = Config::kTile.promote > 0;
  std::conditional_t<kPromoted, float, MatmulSum<Config>> acc[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2];
  if constexpr (kPromoted) matmul_accumulate_promoted<Config>(p, acc, shared, index, rowOffset, 0, first, end);
  else matmul_accumulate<Config>(acc, shared, rowOffset, 0, end - first, -1);
  ptx::named_barrier(1, 256);  // both warpgroups have read the last stages
  matmul_put_sums<Config>(acc, rowOffset, shared.ring);
}

/** The sums of eight columns of all parts of a tile, this block's first. */
struct SplitSums {
  float4 parts[kMostSplitParts][2];
};
__device__ __forceinline__ void load_sums(SplitSums& sums, uint32_t place, uint32_t halfBytes, int rank, int numParts) {
#pragma unroll
  for (int i = 0; i < kMostSplitParts; ++i) {
    if (i >= numParts) break;
    const int part = rank + i < numParts ? rank + i : rank + i - numParts;
    const uint32_t from = ptx::map_to_block(place, part);
    sums.parts[i][0] = ptx::load_cluster16(from);
    sums.parts[i][1] = ptx::load_cluster16(from + halfBytes);
  }
}
/** Adds them up in the order in which they were loaded. */
__device__ __forceinline__ void add_sums(const SplitSums& sums, int numParts, float (&v)[8]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float4 sum = sums.parts[0][half];
#pragma unroll
    for (int part = 1; part < kMostSplitParts; ++part) {
      if (part >= numParts) break;
      sum.x += sums.parts[part][half].x;
      sum.y += sums.parts[part][half].y;
      sum.z += sums.parts[part][half].z;
      sum.w += sums.parts[part][half].w;
    }
    v[4 * half] = sum.x;
    v[4 * half + 1] = sum.y;
    v[4 * half + 2] = sum.z;
    v[4 * half + 3] = sum.w;
  }
}

/** The scales of eight columns of a pixel, by which sums of codes are multiplied once they are whole. Nothing where operands have none,
 *  or where those of blocks are in the sums already. */
template <bool kScales> struct SplitScales {
  __device__ __forceinline__ void load(const MatmulSm90Params&, int64_t, int) {}
  __device__ __forceinline__ void apply(float (&)[8]) const {}
};
template <> struct SplitScales<true> {
  float row;
  float2 columns[4];

  __device__ __forceinline__ void load(const MatmulSm90Params& p, int64_t pixel, int column) {
    row = *pixel_scale(p.scales, p.epilogue, pixel);
#pragma unroll
    for (int i = 0; i < 4; ++i) columns[i] = weight_scales(p.scales, column + 2 * i, p.epilogue.n, 0);
  }
  __device__ __forceinline__ void apply(float (&v)[8]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[2 * i] *= row * columns[i].x;
      v[2 * i + 1] *= row * columns[i].y;
    }
  }
};

/** Eight columns of a row of this block's share, with what their epilogue reads. pixel: -1 where there is none. */
template <class Config> struct SplitItem {
  static constexpr int kChunks = Config::kTileN / 8;
  int64_t pixel;
  int row, column;
  SplitScales<Config::kScaled && !Config::kTile.blocked> scales;
  TailAhead<typename Config::T> tail;
};

/** How many of them a thread has under way, and of which rows of the tile. */
inline constexpr int kSplitUnderWay = 2, kSplitThreads = 256;
struct SplitShare {
  int firstRow, endRow;
  bool ahead;  // the epilogue's operands are loaded with the items
};

/** True where a thread has registers for its first items beside the sums of the products: then they are found before those. Else each is
 * found where its sums are asked for, so that one's divisions run while the other's sums come. */
template <class Config> inline constexpr bool kItemsFirst = !Config::kScaled;

/** Finds an item of a thread, the `at`-th of the share, and asks for what it needs but the sums. */
template <class Config>
__device__ __forceinline__ void find_item(const MatmulSm90Params& p, const MatmulTileIndex& index, const PixelBox& box,
                                          const SplitShare& share, int at, SplitItem<Config>& item) {
  constexpr int kChunks = SplitItem<Config>::kChunks;
  item.row = share.firstRow + at / kChunks;
  item.column = at % kChunks * 8;
  item.pixel = item.row < share.endRow ? matmul_pixel(p, box, index.phase, true, item.row) : -1;
  if (item.pixel < 0) return;
  const int column = index.n * Config::kTileN + item.column;
  item.scales.load(p, item.pixel, column);
  if (share.ahead) item.tail.load(p.epilogue, item.pixel, column);
}

/** Adds up this block's share of the rows over all blocks of the cluster and finishes them. By the consumers; items: the first ones, if
 *  they were found before. */
template <class Config>
__device__ __forceinline__ void matmul_merge_sums(const MatmulSm90Params& p, const MatmulTileIndex& index, const SplitShare& share,
                                                  int rank, int numParts, uint32_t sums, SplitItem<Config> (&items)[kSplitUnderWay]) {
  const int count = (share.endRow - share.firstRow) * SplitItem<Config>::kChunks;
  const PixelBox box = tile_box<Config>(p, index.m);
#pragma unroll 1
  for (int first = threadIdx.x; first < count; first += kSplitUnderWay * kSplitThreads) {
    const bool found = kItemsFirst<Config> && first < kSplitUnderWay * kSplitThreads;
    SplitSums loaded[kSplitUnderWay];
#pragma unroll
    for (int i = 0; i < kSplitUnderWay; ++i) {
      if (!found) find_item<Config>(p, index, box, share, first + i * kSplitThreads, items[i]);
      if (items[i].pixel >= 0)
        load_sums(loaded[i], sums + (items[i].row * kSumsPitch<Config> + items[i].column / 2) * 4, kSumsHalf<Config> * 4, rank, numParts);
    }
#pragma unroll
    for (int i = 0; i < kSplitUnderWay; ++i) {
      if (items[i].pixel < 0) continue;
      float v[8];
      add_sums(loaded[i], numParts, v);
      items[i].scales.apply(v);
      const int column = index.n * Config::kTileN + items[i].column;
      if (share.ahead) items[i].tail.finish(p.epilogue, v, items[i].pixel, column);
      else epilogue8<Config::kScaled>(p.epilogue, v, items[i].pixel, column, false);
    }
  }
}

/** A consumer's way from before the products to the end: multiply leaves its rows' sums at `sums`, and all blocks finish their share. */
template <class Config, class Multiply>
__device__ __forceinline__ void matmul_finish_split(const MatmulSm90Params& p, const MatmulTileIndex& index, int rank, int numParts,
                                                    uint32_t sums, const Multiply& multiply) {
  const SplitShare share{Config::kTileM * rank / numParts, Config::kTileM * (rank + 1) / numParts,
                         tail_reads_ahead<typename Config::T>(p.epilogue)};
  SplitItem<Config> items[kSplitUnderWay];
  if constexpr (kItemsFirst<Config>) {
    const PixelBox box = tile_box<Config>(p, index.m);
#pragma unroll
    for (int i = 0; i < kSplitUnderWay; ++i)
      find_item<Config>(p, index, box, share, static_cast<int>(threadIdx.x) + i * kSplitThreads, items[i]);
  }
  multiply();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  matmul_merge_sums<Config>(p, index, share, rank, numParts, sums, items);
}

/** The two kinds of threads of a block that shares a tile: one loads, and consumers multiply and finish. multiply(warpgroup) leaves a
 *  warpgroup's sums at `sums`. */
template <class Config, class Produce, class Multiply>
__device__ __forceinline__ void matmul_share_tile(const MatmulSm90Params& p, const MatmulTileIndex& index, int rank, int numParts,
                                                  uint32_t sums, const Produce& produce, const Multiply& multiply) {
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == 2) {
    ptx::registers_lower<40>();
    if (threadIdx.x == 256) produce();
    __syncwarp();
    ptx::cluster_arrive();
    ptx::cluster_wait();
  } else {
    ptx::registers_raise<232>();
    await_results_before();  // residuals are the results of others
    matmul_finish_split<Config>(p, index, rank, numParts, sums, [&] { multiply(warpgroup); });
  }
  // A block may not leave while others still read its sums.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_split(const MatmulSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  static_assert(Config::kTileM * kSumsPitch<Config> * 4 <= Config::kStages * (Config::kStageBytesA + Config::kStageBytesB),
                "sums lie where the stages were");
  MatmulShared<Config> shared;
  shared.ring = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  begin_next_launch();
  const int rank = static_cast<int>(ptx::cluster_block_rank()), numParts = static_cast<int>(ptx::cluster_num_blocks());
  const int first = p.numKBlocks * rank / numParts, end = p.numKBlocks * (rank + 1) / numParts;
  const MatmulTileIndex index = matmul_tile_index<Config>(p, blockIdx.x / numParts, 0);
  if (threadIdx.x == 0) {
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), 8);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  matmul_share_tile<Config>(
      p, index, rank, numParts, shared.ring, [&] { matmul_split_produce<Config>(p, shared, index, first, end); },
      [&](int warpgroup) { matmul_split_multiply<Config>(p, shared, index, warpgroup * Config::kRows, first, end); });
}

}  // namespace vd::device
