// The Hopper matrix core for 3x3 filters where tiles are few: a tile's pixels come once for all nine taps, with the border that they see,
// and the blocks of a cluster may share a tile as in matmul_sm90_split.cuh. Where tiles come once for each tap, what they load through L2
// takes longer than their products.
//
// The reduction runs over blocks of 64 channels and within one over taps. A group of eight rows of a product is eight pixels beside each
// other; the next group lies below, a line of ten pixels away, so that a tap is an offset into the source.
//
//   loading thread                               consumers
//   wait free[source], load 10x18 pixels ──────► wait for it once, nine taps of wgmma from it, shifted ──► free[source]
//   wait empty[s], load the filters of a tap ──► wait full[s] ──────────────────────────────────────────► empty[s]
//
// Bits follow from the number of blocks that share a tile, and the order of the reduction is not that of other tiles: plans that are
// batch-invariant do not have this. Measured: docs/kernels/matmul_sm90.md.
#pragma once
#include "matmul_sm90_split.cuh"

namespace vd::device {

/** Sources that are there at once: one is multiplied while the next one comes. */
inline constexpr int kBorderedSources = 2;

/** Shared memory: sources, a ring of filters, barriers. Sums lie over all of it in the end. */
template <class Config> struct BorderedShared {
  static constexpr int kSource = bordered_source_bytes(Config::kTile), kPixels = bordered_source_pixels(Config::kTile);
  uint32_t ring;
  __device__ __forceinline__ uint32_t source(int i) const { return ring + i * kSource; }
  __device__ __forceinline__ uint32_t filters(int s) const { return source(kBorderedSources) + s * Config::kStageBytesB; }
  __device__ __forceinline__ uint32_t full_at(int s) const { return filters(Config::kStages) + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
  __device__ __forceinline__ uint32_t there_at(int i) const { return full_at(2 * Config::kStages + i); }
  __device__ __forceinline__ uint32_t free_at(int i) const { return there_at(kBorderedSources + i); }
};

/** A step of the reduction: a block of 64 channels, and a tap within it. */
struct BorderedStep {
  int block, tap;

  __device__ __forceinline__ explicit BorderedStep(int k) : block(k / kFilterTaps), tap(k - block * kFilterTaps) {}
  __device__ __forceinline__ void advance() {
    if (++tap < kFilterTaps) return;
    tap = 0;
    ++block;
  }
};

/** The loading thread: steps [first, end) of a tile. Filters that nothing writes fill the ring before the launch before has ended. */
template <class Config>
__device__ __forceinline__ void bordered_produce(const MatmulSm90Params& p, const BorderedShared<Config>& shared,
                                                 const MatmulTileIndex& index, int first, int end) {
  const PixelBox box = tile_box<Config>(p, index.m);
  const int row = index.n * Config::kTileN;
  BorderedStep filters(first);
  const auto load_filters = [&](const RingCursor<Config::kStages>& at) {
    const uint32_t full = expect_bytes(shared, at, Config::kStageBytesB);
    matmul_load_b<Config>(p, shared.filters(at.stage), full, filters.block * Config::kBlock, filters.tap, row, 0, 0);
    filters.advance();
  };
  const int ahead = p.constantWeights ? min(end, first + Config::kStages) : first;
  RingCursor<Config::kStages> early{0, 1};
#pragma unroll 1
  for (int k = first; k < ahead; ++k, early.advance()) load_filters(early);
  await_results_before();
  BorderedStep step(first);
  RingCursor<Config::kStages> at{0, 1};
  RingCursor<kBorderedSources> source{0, 1};
#pragma unroll 1
  for (int k = first; k < end; ++k, at.advance(), step.advance()) {
    if (k == first || step.tap == 0) {
      ptx::mbarrier_wait(shared.free_at(source.stage), source.parity);
      const uint32_t there = shared.there_at(source.stage);
      ptx::mbarrier_arrive_expect_tx(there, BorderedShared<Config>::kPixels * 128);
      ptx::tma_load_5d(shared.source(source.stage), &p.a, there, step.block * Config::kBlock, box.w - p.padding[2], box.h - p.padding[1],
                       box.f, box.b);
      source.advance();
    }
    if (k < ahead) continue;
    await_free(shared, at);
    load_filters(at);
  }
}

/** acc = a warpgroup's 64 rows of the products of steps [first, end). */
template <class Config>
__device__ __forceinline__ void bordered_accumulate(float (&acc)[1][1][Config::kWidth / 2], const BorderedShared<Config>& shared, int group,
                                                    int first, int end) {
  using Product = ptx::Wgmma<typename Config::Operand, Config::kWidth, 0>;
  constexpr int kLineBytes = kBorderedColumns * 128;
  RingCursor<Config::kStages> at{0, 0};
  RingCursor<kBorderedSources> source{0, 0};
  int previous = 0, left = -1;  // the stage before, and the source whose last tap it was
  BorderedStep step(first);
#pragma unroll 1
  for (int k = first; k < end; ++k) {
    if (k == first || step.tap == 0) ptx::mbarrier_wait(shared.there_at(source.stage), source.parity);
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    const int line = step.tap / 3 + 8 * group, column = step.tap % 3;
    const uint64_t a = ptx::matrix_descriptor_spaced(shared.source(source.stage) + (line * kBorderedColumns + column) * 128, kLineBytes);
    const uint64_t b = ptx::matrix_descriptor(shared.filters(at.stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int part = 0; part < 4; ++part) Product::run(acc[0][0], a + part * 2, b + part * 2, k > first || part > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (k > first) release_stage<1>(shared.empty_at(previous));
    if (left >= 0) release_stage<1>(shared.free_at(left));
    previous = at.stage;
    left = step.tap == kFilterTaps - 1 ? source.stage : -1;
    if (left >= 0) source.advance();
    at.advance();
    step.advance();
  }
  ptx::wgmma_wait<0>();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_bordered(const MatmulSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  static_assert(Config::kTileM == 128 && Config::kRowBlocks == 1 && Config::kColBlocks == 1 && !Config::kScaled, "a product a step");
  static_assert(Config::kTileM * kSumsPitch<Config> * 4 <=
                    kBorderedSources * BorderedShared<Config>::kSource + Config::kStages * Config::kStageBytesB,
                "sums lie where sources and filters were");
  const BorderedShared<Config> shared{(shared_address(dynamicShared) + 1023) & ~1023u};  // as a uniform number it spills others
  begin_next_launch();
  const int rank = static_cast<int>(ptx::cluster_block_rank()), numParts = static_cast<int>(ptx::cluster_num_blocks());
  const int first = p.numKBlocks * rank / numParts, end = p.numKBlocks * (rank + 1) / numParts;
  const MatmulTileIndex index = matmul_tile_index<Config>(p, blockIdx.x / numParts, 0);
  if (threadIdx.x == 0) {
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), 8);
    }
    for (int i = 0; i < kBorderedSources; ++i) {
      ptx::mbarrier_init(shared.there_at(i), 1);
      ptx::mbarrier_init(shared.free_at(i), 8);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  matmul_share_tile<Config>(
      p, index, rank, numParts, shared.ring, [&] { bordered_produce<Config>(p, shared, index, first, end); },
      [&](int warpgroup) {
        float acc[1][1][Config::kWidth / 2];
        bordered_accumulate<Config>(acc, shared, warpgroup, first, end);
        ptx::named_barrier(1, 256);  // both warpgroups have read the last stages
        matmul_put_sums<Config>(acc, warpgroup * Config::kRows, shared.ring);
      });
}

}  // namespace vd::device
