// The Hopper matrix core for 3x3 filters of one block of channels, 64 of 16 bits or 128 of 8: filters stay in shared memory while tiles
// pass, and a tile's pixels come once for all nine taps, with the border that they see. A tile's products need nothing but its source, so
// that they are one group of instructions without a wait. Each consumer warpgroup has tiles of its own: one stores while the other
// multiplies.
//
//   loading thread                      consumers, in turn                              storing warp
//   filters, once                       wait full[source], nine taps of wgmma           load residual into staging ─► free
//   wait empty[source], load source ─►  from it, shifted ─► empty[source]
//                                       wait free, results to staging ─► staged ──────► store
//
// A group of eight rows of a product is eight pixels beside each other, as in matmul_sm90_normed.cuh; the next group lies below, a line of
// ten pixels away.
//
// Measured beside other tiles in docs/kernels/conv.md.
#pragma once
#include "matmul_sm90.cuh"

namespace vd::device {

/** Shared memory: filters, a ring of sources, staged results, barriers. */
template <class Config> struct StationaryShared {
  static constexpr int kSource = bordered_source_bytes(Config::kTile), kPixels = bordered_source_pixels(Config::kTile);
  uint32_t base;
  __device__ __forceinline__ uint32_t filters(int tap) const { return base + tap * Config::kStageBytesB; }
  __device__ __forceinline__ uint32_t source(int s) const { return filters(kFilterTaps) + s * kSource; }
  __device__ __forceinline__ uint32_t staging() const { return source(Config::kStages); }
  __device__ __forceinline__ uint32_t full_at(int s) const { return staging() + Config::kAllStagingBytes + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
  __device__ __forceinline__ uint32_t filters_at() const { return full_at(2 * Config::kStages); }
  __device__ __forceinline__ uint32_t residual_at() const { return filters_at() + 8; }
};

/** Named barriers between a consumer warpgroup and the storing warp; that of the second warpgroup is the next. kBiasRead is in use, too. */
enum StationaryBarrier : int { kStationaryFree = 5, kStationaryRead = 7, kStationaryStaged = 11 };

/** The loading thread. Filters that nothing writes come before the launch before has ended. */
template <class Config>
__device__ __forceinline__ void stationary_load(const MatmulSm90Params& p, const StationaryShared<Config>& shared, int numTiles) {
  if (!p.constantWeights) await_results_before();
  ptx::mbarrier_arrive_expect_tx(shared.filters_at(), kFilterTaps * Config::kStageBytesB);
  // The number of blocks is a multiple of that of column tiles.
  const int row = static_cast<int>(blockIdx.x) % p.numNTiles * Config::kTileN;
#pragma unroll 1
  for (int tap = 0; tap < kFilterTaps; ++tap) matmul_load_b<Config>(p, shared.filters(tap), shared.filters_at(), 0, tap, row, 0, 0);
  await_results_before();
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int tile = blockIdx.x; tile < numTiles; tile += gridDim.x, at.advance()) {
    const PixelBox box = tile_box<Config>(p, matmul_tile_index<Config>(p, tile, 0).m);
    await_free(shared, at);
    const uint32_t full = expect_bytes(shared, at, StationaryShared<Config>::kPixels * 128);
    ptx::tma_load_5d(shared.source(at.stage), &p.a, full, 0, box.w - p.padding[2], box.h - p.padding[1], box.f, box.b);
  }
}

/** acc = a tile's pixels, of which the source has arrived, by all filters. handOver: the barrier of the other warpgroup, whose products may
 *  follow; or -1. */
template <class Config>
__device__ __forceinline__ void stationary_multiply(float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                    const StationaryShared<Config>& shared, int stage, int handOver) {
  using Product = ptx::Wgmma<typename Config::Operand, Config::kWidth, 0>;
  constexpr int kLineBytes = kBorderedColumns * 128;
  static_assert(Config::kColBlocks == 1, "one product is as wide as the tile");
  ptx::wgmma_fence();
#pragma unroll
  for (int tap = 0; tap < kFilterTaps; ++tap) {
    const uint64_t a = ptx::matrix_descriptor_spaced(shared.source(stage) + (tap / 3 * kBorderedColumns + tap % 3) * 128, kLineBytes);
    const uint64_t b = ptx::matrix_descriptor(shared.filters(tap));
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
      for (int m = 0; m < Config::kRowBlocks; ++m)
        Product::run(acc[m][0], a + m * (8 * kLineBytes >> 4) + step * 2, b + step * 2, tap > 0 || step > 0);
  }
  ptx::wgmma_commit();
  if (handOver >= 0) ptx::named_barrier_arrive(handOver, 256);
  ptx::wgmma_wait<0>();
  release_stage<1>(shared.empty_at(stage));
}

/** A consumer warpgroup: products and tails of every second tile of this block. */
template <class Config>
__device__ __forceinline__ void stationary_consume(const MatmulSm90Params& p, const StationaryShared<Config>& shared, int group,
                                                   int numTiles, float* bias) {
  ptx::mbarrier_wait(shared.filters_at(), 0);
  RingCursor<Config::kStages> at{0, 0};
  MatmulBiasTile<Config> biasTile{bias};
  int turn = 0;
  for (int tile = blockIdx.x; tile < numTiles; tile += gridDim.x, at.advance(), ++turn) {
    if ((turn & 1) != group) continue;
    float acc[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2];
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, 0);
    biasTile.renew(p, index, group);
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    if (turn > 0) ptx::named_barrier(1 + group, 256);
    stationary_multiply<Config>(acc, shared, at.stage, tile + gridDim.x < numTiles ? 2 - group : -1);
    if constexpr (Config::kColumnScales)
      if (matmul_has_row_scales(p)) matmul_scale_rows<Config>(p, index, 0, acc);
    // A tile has one arrival of residuals, or two.
    uint32_t parity = p.epilogue.residual2 != nullptr ? 0 : turn & 1;
    ptx::named_barrier(kStationaryFree + group, kFreeThreads);
    matmul_stage<Config>(p, acc, index, group, 0, bias, shared.staging(), shared.residual_at(), parity);
    ptx::named_barrier(kStationaryStaged + group, kFreeThreads);
    if constexpr (Config::kMoments) {
      matmul_staged_moments<Config>(p, index, shared.staging());
      ptx::named_barrier_arrive(kStationaryRead + group, kFreeThreads);
    }
  }
}

/** The storing warp. */
template <class Config>
__device__ __forceinline__ void stationary_store(const MatmulSm90Params& p, const StationaryShared<Config>& shared, int numTiles) {
  const bool first = (threadIdx.x & 31) == 0;
  int turn = 0;
#pragma unroll 1
  for (int tile = blockIdx.x; tile < numTiles; tile += gridDim.x, ++turn) {
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, 0);
    const int group = turn & 1;
    if (first && p.epilogue.residual != nullptr) matmul_load_residual<Config>(p, p.residual, index, shared.staging(), shared.residual_at());
    __syncwarp();
    ptx::named_barrier_arrive(kStationaryFree + group, kFreeThreads);
    ptx::named_barrier(kStationaryStaged + group, kFreeThreads);
    if (first) {
      matmul_store_boxes<Config>(p, index, shared.staging());
      const int next = tile + static_cast<int>(gridDim.x);
      if (next < numTiles) matmul_prefetch_residual<Config>(p, matmul_tile_index<Config>(p, next, 0));
      ptx::bulk_wait_read();
    }
    __syncwarp();
    if constexpr (Config::kMoments) ptx::named_barrier(kStationaryRead + group, kFreeThreads);
  }
  if (first) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_stationary(const MatmulSm90Params& p) {
  static_assert(Config::kPingpong && Config::kStaged && Config::kCluster == 1 && Config::kTileM == 128, "warpgroups have tiles of 128");
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(16) float biases[2][Config::kBiases];
  const StationaryShared<Config> shared{ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u)};
  const int numTiles = p.numMTiles * p.numNTiles, warpgroup = ptx::warpgroup_index();
  begin_next_launch();
  if (threadIdx.x == 0) {
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), 4);  // warps of the warpgroup that has the source
    }
    ptx::mbarrier_init(shared.filters_at(), 1);
    ptx::mbarrier_init(shared.residual_at(), 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (warpgroup == 2) {
    ptx::registers_lower<40>();
    if (threadIdx.x == 256) stationary_load<Config>(p, shared, numTiles);
    if (threadIdx.x / 32 == 9) {
      await_results_before();  // residuals, and what results replace
      stationary_store<Config>(p, shared, numTiles);
    }
  } else {
    ptx::registers_raise<232>();
    await_results_before();  // scales and frame biases
    stationary_consume<Config>(p, shared, warpgroup, numTiles, biases[warpgroup]);
  }
}

}  // namespace vd::device
