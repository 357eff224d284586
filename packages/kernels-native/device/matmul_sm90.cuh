// The Hopper matrix core: D[pixels, N] = sum over taps and channels of A[pixel + tap, c] · B[n, tap, c], then the epilogue.
//
// One producer thread fills a ring of (A, B) stages through the copy engine; A tiles are boxes of the activation tensor
// with start coordinates that may lie outside it, so zero padding costs nothing. Two consumer warpgroups multiply with
// wgmma, each half of the tile's rows, or (pingpong) each a whole tile in turn. Blocks are persistent; in a cluster two
// blocks take neighbouring pixel tiles and each multicasts half of the weights' tile to both.
//
//   producer            full[s]                    consumers                       empty[s]
//   wait empty[s] ──► expect bytes, load A, B ──► wait full[s], wgmma ──► one arrival per warp, to every block of the cluster
//
// What lost: release at cluster scope (every arrival waited for the epilogue's stores); tiles m256n128 and m128n320; staging a whole
// row block at once; pingpong without the order barrier (a full barrier tells only the parity of its phase). What bounds it is
// shared memory. Figures of every version: docs/kernels/matmul_sm90.md.
#pragma once
#include "matmul_sm90_codes.cuh"
#include "matmul_sm90_floats.cuh"
#include "matmul_sm90_scaled.cuh"
#include "matmul_sm90_staged.cuh"
#include "matmul_sm90_tail.cuh"
#include "ptx/matrix_descriptor.cuh"
#include "ptx/registers.cuh"
#include "ptx/tma.cuh"
#include "ptx/uniform.cuh"
#include "ptx/wgmma.cuh"
#include "ring_sm90.cuh"

namespace vd::device {

template <class Config> struct MatmulShared {
  uint32_t ring;  // stages, staged results, then full and empty barriers, then those of the residual
  __device__ __forceinline__ uint32_t a(int s) const { return ring + s * (Config::kStageBytesA + Config::kStageBytesB); }
  __device__ __forceinline__ uint32_t b(int s) const { return a(s) + Config::kStageBytesA; }
  __device__ __forceinline__ uint32_t staging(int set) const { return a(Config::kStages) + set * Config::kStagingBytes; }
  __device__ __forceinline__ uint32_t full_at(int s) const { return a(Config::kStages) + Config::kAllStagingBytes + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
  __device__ __forceinline__ uint32_t residual_at(int set) const { return full_at(2 * Config::kStages + set); }
};

/** Loads one weight tile, whole or this block's half for the whole cluster. */
template <class Config>
__device__ __forceinline__ void matmul_load_b(const MatmulSm90Params& p, uint32_t dst, uint32_t full, int k, int tap, int row, int phase,
                                              int rank) {
  constexpr int kHalf = Config::kHalfN;
  if constexpr (Config::kCluster == 2) {
    const uint32_t half = dst + rank * kHalf * 128;
    row += rank * kHalf;
    if constexpr (Config::kGeglu) ptx::tma_multicast_4d(half, &p.b, full, 3, k, 0, 0, row / 16);
    else ptx::tma_multicast_4d(half, &p.b, full, 3, k, tap, row, phase);
  } else {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if constexpr (Config::kGeglu) ptx::tma_load_4d(dst + i * kHalf * 128, &p.b, full, k, 0, 0, (row + i * kHalf) / 16);
      else ptx::tma_load_4d(dst + i * kHalf * 128, &p.b, full, k, tap, row + i * kHalf, phase);
    }
  }
}

/** Asks L2 for the weights of this block's first tile, while the launch before this one ends: blocks of the same columns take turns with
 *  the steps of the reduction. By one thread. */
template <class Config> __device__ __forceinline__ void matmul_prefetch_weights(const MatmulSm90Params& p, int rank) {
  const int cluster = blockIdx.x / Config::kCluster, columnTiles = p.numNTiles * p.numPhases;
  const int sharers = max(1, static_cast<int>(gridDim.x) / Config::kCluster / columnTiles) * Config::kCluster;
  const MatmulTileIndex index = matmul_tile_index<Config>(p, cluster, rank);
#pragma unroll 1
  for (int k = cluster / columnTiles * Config::kCluster + rank; k < p.numKBlocks; k += sharers) {
    const bool second = k >= p.numKBlocks1;
    const int tap = second ? 0 : k / p.blocksPerTap;
    const int c = second ? p.channels + (k - p.numKBlocks1) * Config::kBlock : k % p.blocksPerTap * Config::kBlock;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = index.n * Config::kTileN + half * Config::kHalfN;
      if constexpr (Config::kGeglu) ptx::tma_prefetch_4d(&p.b, c, 0, 0, row / 16);
      else ptx::tma_prefetch_4d(&p.b, c, tap, row, index.phase);
    }
  }
}

/** Loads a box of frame `f`, which may lie in front of x or repeat a border. */
__device__ __forceinline__ void matmul_load_clip(const MatmulSm90Params& p, uint32_t dst, uint32_t full, int c, int w, int h, int f,
                                                 int b) {
  if (p.replicate) f = min(max(f, -p.pastFrames), p.lastFrame);
  if (f < 0 && p.pastFrames > 0) ptx::tma_load_5d(dst, &p.a2, full, c, w, h, f + p.pastFrames, b);
  else ptx::tma_load_5d(dst, &p.a, full, c, w, h, f, b);
}

/** The producer thread: every stage of every tile of this block. */
template <class Config>
__device__ __forceinline__ void matmul_produce(const MatmulSm90Params& p, const MatmulShared<Config>& shared, int rank, int numTiles) {
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
    const PixelBox box = tile_box<Config>(p, index.m);
    // Most staged tiles have no phases: the producer's few registers do not hold them for nothing.
    const int phases = Config::kPhases && p.numPhases == 4, row = index.n * Config::kTileN;
    const int phase = Config::kPhases ? index.phase : 0;
    // Filters that were not added up for each phase run over the grown picture, of which two by two pixels are one of x.
    const int shift = Config::kTile.floats && phases && p.kernel[2] == 3 ? 1 : 0;
    const int w0 = shift ? 2 * box.w + (phase & 1) - 1 : box.w * p.stride[2] - (phases ? 1 - (phase & 1) : p.padding[2]);
    const int h0 = shift ? 2 * box.h + (phase >> 1) - 1 : box.h * p.stride[1] - (phases ? 1 - (phase >> 1) : p.padding[1]);
    const int f0 = box.f * p.stride[0] - p.padding[0];
    int outer = box.b;
    if constexpr (Config::kGroups) {
      if (p.groupTiles > 0) outer = index.n / p.groupTiles;
    }
    int tap = 0;
#pragma unroll 1
    for (int f = f0; f < f0 + p.kernel[0]; ++f)
#pragma unroll 1
      for (int h = h0; h < h0 + p.kernel[1]; ++h)
#pragma unroll 1
        for (int w = w0; w < w0 + p.kernel[2]; ++w, ++tap)
#pragma unroll 1
          for (int c = 0; c < p.blocksPerTap * Config::kBlock; c += Config::kBlock) {
            await_free(shared, at);
            const uint32_t full = expect_bytes(shared, at, p.aBytes + Config::kStageBytesB);
            if constexpr (Config::kClip) matmul_load_clip(p, shared.a(at.stage), full, c, w, h, f, box.b);
            else ptx::tma_load_5d(shared.a(at.stage), &p.a, full, c, w >> shift, h >> shift, f, outer);
            matmul_load_b<Config>(p, shared.b(at.stage), full, c, tap, row, shift ? 0 : phase, rank);
            at.advance();
          }
#pragma unroll 1
    for (int c = 0; c < (p.numKBlocks - p.numKBlocks1) * Config::kBlock; c += Config::kBlock) {
      await_free(shared, at);
      const uint32_t full = expect_bytes(shared, at, p.aBytes + Config::kStageBytesB);
      ptx::tma_load_5d(shared.a(at.stage), &p.a2, full, c, w0, h0, f0, box.b);
      matmul_load_b<Config>(p, shared.b(at.stage), full, p.channels + c, 0, row, phase, rank);
      at.advance();
    }
  }
}

/** acc = this warpgroup's rows of A · Bᵀ over the whole reduction; stages are those from `count` on. With `handOver`
 *  the other warpgroup may start on the stages that follow. A wait on a full barrier tells only the parity of its phase,
 *  so a warpgroup must not wait while the other is still a whole ring behind. */
template <class Config, class Sum>
__device__ __forceinline__ void matmul_accumulate(Sum (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                  const MatmulShared<Config>& shared, int rowOffset, uint32_t count, int numKBlocks,
                                                  int handOver) {
  using Product = ptx::Wgmma<typename Config::Operand, Config::kWidth, 0>;
  int previous = 0;
  RingCursor<Config::kStages> at{static_cast<int>(count % Config::kStages), count / Config::kStages & 1};
  for (int k = 0; k < numKBlocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    const uint64_t a = ptx::matrix_descriptor(shared.a(at.stage) + rowOffset * 128), b = ptx::matrix_descriptor(shared.b(at.stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
      for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
        for (int n = 0; n < Config::kColBlocks; ++n)
          Product::run(acc[m][n], a + m * (64 * 128 >> 4) + step * 2, b + n * (Config::kWidth * 128 >> 4) + step * 2, k > 0 || step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (k > 0) release_stage<Config::kCluster>(shared.empty_at(previous));
    previous = at.stage;
    at.advance();
  }
  if (handOver >= 0) ptx::named_barrier_arrive(handOver, 256);
  ptx::wgmma_wait<0>();
  release_stage<Config::kCluster>(shared.empty_at(previous));
}

/** A consumer warpgroup: products and tails of its tiles. */
template <class Config>
__device__ __forceinline__ void matmul_consume(const MatmulSm90Params& p, const MatmulShared<Config>& shared, int group, int rank,
                                               int numTiles, float* bias, uint32_t staging) {
  constexpr bool kStagedBias = !Config::kActivation && !Config::kGeneric;
  const int rowOffset = Config::kPingpong ? 0 : group * Config::kRows;
  const int set = Config::kPingpong ? group : 0;
  MatmulBiasTile<Config> biasTile{bias};
  const MatmulCodeScale<Config> codeScale(p);
  uint32_t count = 0, residualParity = 0;
  int turn = 0;
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    if (!Config::kPingpong || (turn & 1) == group) {
      // Sums that become codes stay what the tensor cores leave: the tail turns them into numbers one by one.
      std::conditional_t<Config::kCodes, MatmulSum<Config>, float> acc[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2];
      const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
      bool framed = true;
      if constexpr (Config::kWide) {
        biasTile.renew(p, index, group);
      } else if constexpr (Config::kStaged) {
        const MatmulBiasPart<Config> part(p, index, codeScale.value);
        if constexpr (Config::kMoments) matmul_set_barrier<Config>(group);  // nobody reads the results of the tile before
        if (matmul_first_of_set<Config>()) matmul_open_staging<Config>(p, index, shared.staging(set), shared.residual_at(set));
        matmul_set_barrier<Config>(group);  // the tile before no longer reads the bias, its stores no longer the staging
        part.put(bias);
      } else {
        matmul_prefetch<Config>(p, index, rowOffset);
        if constexpr (kStagedBias) {
          const MatmulBiasPart<Config> part(p, index, codeScale.value);
          ptx::named_barrier(3 + group, 128);  // the tile before no longer reads the bias
          part.put(bias);
          framed = part.framed;
        }
      }
      MatmulTileScales<Config> scales;
      if (!codeScale.uniform) scales.load(p, index, rowOffset);
      const bool more = tile + gridDim.x / Config::kCluster < numTiles;
      if (Config::kPingpong && turn > 0) ptx::named_barrier(1 + group, 256);
      const int handOver = Config::kPingpong && more ? 2 - group : -1;
      if constexpr (Config::kScaled && !Config::kCodes)
        matmul_accumulate_scaled<Config>(p, acc, shared, index, rowOffset, count, handOver, scales);
      else if constexpr (Config::kTile.floats) matmul_accumulate_floats<Config>(acc, shared, rowOffset, count, p.numKBlocks);
      else matmul_accumulate<Config>(acc, shared, rowOffset, count, p.numKBlocks, handOver);
      if constexpr (Config::kCodes) {
        matmul_set_barrier<Config>(group);
        if (codeScale.uniform) matmul_fill_codes<Config, true>(acc, scales, codeScale, bias, shared.staging(set));
        else matmul_fill_codes<Config, false>(acc, scales, codeScale, bias, shared.staging(set));
        matmul_send_staging<Config>(p, index, group, shared.staging(set));
      } else if constexpr (Config::kWide) {
        ptx::named_barrier(kStagingFree + group, kFreeThreads);
        matmul_stage<Config>(p, acc, index, group, rowOffset, bias, shared.staging(0), shared.residual_at(0), residualParity);
        ptx::named_barrier_arrive(kStagingFull, kFullThreads<Config, kMeasuringThreads>);
      } else if constexpr (Config::kStaged) {
        matmul_set_barrier<Config>(group);
        matmul_store_staged<Config>(p, acc, index, group, rowOffset, bias, shared.staging(set), shared.residual_at(set), residualParity);
        if constexpr (Config::kMoments) matmul_staged_moments<Config>(p, index, shared.staging(set));
      } else {
        if constexpr (kStagedBias) ptx::named_barrier(3 + group, 128);
        matmul_store<Config>(p, acc, index, rowOffset, bias, staging, framed);
      }
    }
    count += p.numKBlocks;
    ++turn;
  }
  if constexpr (Config::kStaged && !Config::kWide)
    if (matmul_first_of_set<Config>()) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void matmul_sm90(const MatmulSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  constexpr int kBiasSets = Config::kStaged && !Config::kPingpong && !Config::kWide ? 1 : 2;
  __shared__ __align__(16) float biases[kBiasSets][Config::kBiases];
  __shared__ __align__(128) uint8_t staging[Config::kStaged ? 1 : 8 + kSlabBytes<Config> / 1024][Config::kStaged ? 16 : 1024];
  MatmulShared<Config> shared;
  shared.ring = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  const int rank = Config::kCluster == 1 ? 0 : static_cast<int>(ptx::cluster_block_rank());
  const int numTiles = (p.numMTiles + Config::kCluster - 1) / Config::kCluster * p.numPhases * p.numNTiles;
  begin_next_launch();
  if (threadIdx.x == 0) {
    constexpr int kConsumerWarps = Config::kPingpong ? 4 : 8;
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), kConsumerWarps * Config::kCluster);
    }
    if constexpr (Config::kStaged)
      for (int set = 0; set < 2; ++set) ptx::mbarrier_init(shared.residual_at(set), 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if constexpr (Config::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
  if constexpr (!Config::kTile.floats)  // phases of those share weights
    if (threadIdx.x == kMatmulThreads - 32) matmul_prefetch_weights<Config>(p, rank);
  await_results_before();

  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == 2) {
    ptx::registers_lower<Config::kWide ? 40 : 24>();
    if (threadIdx.x == 256) matmul_produce<Config>(p, shared, rank, numTiles);
    if constexpr (Config::kWide)
      if (threadIdx.x / 32 == 9)
        matmul_store_wide_tiles<Config, kMeasuringThreads>(p, rank, numTiles, shared.staging(0), shared.residual_at(0));
    if constexpr (Config::kWide && Config::kMoments)
      if (threadIdx.x / 32 >= kMeasuringWarp) matmul_measure_wide_tiles<Config>(p, rank, numTiles, shared.staging(0));
  } else {
    ptx::registers_raise<Config::kWide ? 232 : 240>();
    matmul_consume<Config>(p, shared, warpgroup, rank, numTiles, biases[warpgroup % kBiasSets],
                           shared_address(staging[Config::kStaged ? 0 : threadIdx.x / 32]));
  }
  // A block may not leave while others still signal its barriers or write its stages.
  if constexpr (Config::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
}

}  // namespace vd::device
