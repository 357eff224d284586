// The Hopper matrix core for 3x1x1 filters over a clip whose channel groups are normalised on the way, so that the normalised clip never
// lies in memory. A block walks along the frames of 128 pixels: the pixels of a frame come and are normalised once for the three results
// that see them, three frames in turn, and the filters stay in shared memory. So a result costs the memory one read and one write.
//
//   loading thread                normalising warpgroups         consumers, for the results of each frame
//   wait used, 64 channels ─────► wait loaded, act(x · scale ──► for each tap: wait ready, wgmma; behind the last result
//   of a frame                    + shift) in place ─► ready     that sees a source ─► used
//
// Frames in front of the first and behind the last are left out: the convolution pads what is normalised. A clip's results may be fewer or
// more than its frames, by one at each end. Results leave as those of wide tiles do. Figures: docs/kernels/group_norm_conv.md.
#pragma once
#include "matmul_sm90_normed.cuh"

namespace vd::device {

inline constexpr int kWalkTaps = 3;
/** Pixels that a normalising warpgroup takes at a time: eight threads have the 64 channels of one. */
inline constexpr int kWalkLanes = 128 / 8;

/** Shared memory: sources, filters, staged results, barriers. */
template <class Config> struct WalkShared {
  static constexpr int kSources = kWalkFrames * kWalkBlocks, kFilters = kWalkTaps * kWalkBlocks;
  uint32_t base;
  __device__ __forceinline__ uint32_t source(int i) const { return base + i * Config::kStageBytesA; }
  __device__ __forceinline__ uint32_t filters(int tap, int block) const {
    return source(kSources) + (tap * kWalkBlocks + block) * Config::kStageBytesB;
  }
  __device__ __forceinline__ uint32_t staging() const { return filters(kWalkTaps, 0); }
  __device__ __forceinline__ uint32_t filters_at() const { return staging() + Config::kAllStagingBytes; }
  __device__ __forceinline__ uint32_t residual_at() const { return filters_at() + 8; }
  __device__ __forceinline__ uint32_t loaded_at(int i) const { return residual_at() + 8 * (1 + i); }
  __device__ __forceinline__ uint32_t ready_at(int i) const { return loaded_at(kSources + i); }
  __device__ __forceinline__ uint32_t used_at(int i) const { return loaded_at(2 * kSources + i); }
};

/** The pixels that a block takes through all frames of a clip. */
struct WalkPlace {
  int tile;    // that of its first result
  int stride;  // tiles from one frame of results to the next
  __device__ __forceinline__ WalkPlace(const MatmulSm90Params& p, int place) : stride(p.tiles[1] * p.tiles[2]) {
    tile = place / stride * p.out[0] * stride + place % stride;
  }
  __device__ __forceinline__ MatmulTileIndex index(int frame) const { return {0, 0, tile + frame * stride}; }
};

__device__ __forceinline__ int walk_places(const MatmulSm90Params& p) { return p.numMTiles / p.out[0]; }
__device__ __forceinline__ int walk_frames(const MatmulSm90Params& p) { return p.lastFrame + 1; }

/** The loading thread: the filters, then every source of this block. */
template <class Config> __device__ __forceinline__ void walk_load(const MatmulSm90Params& p, const WalkShared<Config>& shared) {
  ptx::mbarrier_arrive_expect_tx(shared.filters_at(), kWalkTaps * p.blocksPerTap * Config::kStageBytesB);
  for (int tap = 0; tap < kWalkTaps; ++tap)
    for (int block = 0; block < p.blocksPerTap; ++block)
      matmul_load_b<Config>(p, shared.filters(tap, block), shared.filters_at(), block * Config::kBlock, tap, 0, 0, 0);
  RingCursor<kWalkFrames> at{0, 1};
#pragma unroll 1
  for (int place = blockIdx.x; place < walk_places(p); place += gridDim.x) {
    const PixelBox box = tile_box<Config>(p, WalkPlace(p, place).tile);
#pragma unroll 1
    for (int frame = 0; frame < walk_frames(p); ++frame, at.advance())
#pragma unroll 1
      for (int block = 0; block < p.blocksPerTap; ++block) {
        const int i = at.stage * kWalkBlocks + block;
        ptx::mbarrier_wait(shared.used_at(i), at.parity);
        ptx::mbarrier_arrive_expect_tx(shared.loaded_at(i), p.aBytes);
        ptx::tma_load_5d(shared.source(i), &p.a, shared.loaded_at(i), block * Config::kBlock, box.w, box.h, frame, box.b);
      }
  }
}

/** Normalises and activates a source in place. source: of this thread's vector of its first pixel. */
template <class Config, class Activate>
__device__ __forceinline__ void walk_apply(const NormedAffine& affine, const Activate& activation, uint32_t source) {
  using T = typename Config::T;
  constexpr int kSteps = Config::kTileM / kWalkLanes, kStepBytes = kWalkLanes * 128;
#pragma unroll
  for (int first = 0; first < kSteps; first += kNormingBatch) {
    uint4 lines[kNormingBatch];
#pragma unroll
    for (int n = 0; n < kNormingBatch; ++n) lines[n] = ptx::load_shared16(source + (first + n) * kStepBytes);
#pragma unroll
    for (int n = 0; n < kNormingBatch; ++n) {
      float v[8];
      unpack8<T>(lines[n], v);
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], affine.scale[k], affine.shift[k]);
      activation(v);
      ptx::store_shared16(source + (first + n) * kStepBytes, pack8<T>(v));
    }
  }
}

/** A normalising warpgroup: makes its block of channels of every source ready. */
template <class Config>
__device__ __forceinline__ void walk_normalise(const MatmulNormedParams& params, const WalkShared<Config>& shared, int block) {
  const MatmulSm90Params& p = params.matmul;
  if (block >= p.blocksPerTap) return;
  const int vector = threadIdx.x % 8, lane = threadIdx.x % 128 / 8;
  const uint32_t offset = lane * 128 + ((vector ^ (lane & 7)) << 4);  // the copy engine's swizzle, the same for every eighth pixel
  RingCursor<kWalkFrames> at;
  NormedAffine affine;
  int row = -1;  // of the statistics that affine is made of: most clips have one
#pragma unroll 1
  for (int place = blockIdx.x; place < walk_places(p); place += gridDim.x) {
    const int clip = place / (p.tiles[1] * p.tiles[2]);
#pragma unroll 1
    for (int frame = 0; frame < walk_frames(p); ++frame, at.advance()) {
      const int here = clip * walk_frames(p) + frame;
      if (here / params.norm.framesPerRow != row) {
        row = here / params.norm.framesPerRow;
        affine = normed_affine(params.norm, here, block * Config::kBlock + 8 * vector, p.channels);
      }
      const int i = at.stage * kWalkBlocks + block;
      ptx::mbarrier_wait(shared.loaded_at(i), at.parity);
      if (params.norm.silu) walk_apply<Config>(affine, NormSilu{}, shared.source(i) + offset);
      else walk_apply<Config>(affine, NormNoActivation{}, shared.source(i) + offset);
      ptx::fence_proxy_async();
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(shared.ready_at(i));
    }
  }
}

/** acc = this warpgroup's rows of the results of a frame. before: sources of this block in front of the clip's. */
template <class Config>
__device__ __forceinline__ void walk_accumulate(const MatmulSm90Params& p, float (&acc)[1][1][Config::kWidth / 2],
                                                const WalkShared<Config>& shared, int group, int frame, uint32_t before) {
  using Product = ptx::Wgmma<typename Config::T, Config::kWidth, 0>;
  const int start = frame - p.padding[0];  // the first source that the result sees, or one in front of them
  const bool isFirst = frame == 0, isLast = frame == p.out[0] - 1;
  const int end = min(kWalkTaps, walk_frames(p) - start);
  uint32_t used = 0;  // the barrier of the source before, if no other result sees it
  bool more = false;
#pragma unroll 1
  for (int tap = max(0, -start); tap < end; ++tap) {
    const uint32_t source = before + start + tap, stage = source % kWalkFrames, parity = source / kWalkFrames & 1;
    const bool isNew = isFirst || tap == kWalkTaps - 1;  // the others were ready for the frame before
#pragma unroll 1
    for (int block = 0; block < p.blocksPerTap; ++block) {
      const int i = static_cast<int>(stage) * kWalkBlocks + block;
      if (isNew) ptx::mbarrier_wait(shared.ready_at(i), parity);
      const uint64_t a = ptx::matrix_descriptor(shared.source(i) + group * Config::kRows * 128);
      const uint64_t b = ptx::matrix_descriptor(shared.filters(tap, block));
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < 4; ++step) Product::run(acc[0][0], a + step * 2, b + step * 2, more || step > 0);
      ptx::wgmma_commit();
      ptx::wgmma_wait<1>();
      if (used != 0) release_stage<1>(used);
      used = tap == 0 || isLast ? shared.used_at(i) : 0;
      more = true;
    }
  }
  ptx::wgmma_wait<0>();
  if (used != 0) release_stage<1>(used);
}

/** A consumer warpgroup: products and tails of its results. */
template <class Config>
__device__ __forceinline__ void walk_consume(const MatmulSm90Params& p, const WalkShared<Config>& shared, int group, float* bias) {
  static_assert(Config::kRowBlocks == 1 && Config::kColBlocks == 1, "one product is as large as the warpgroup's results");
  uint32_t residualParity = 0, before = 0;
  ptx::mbarrier_wait(shared.filters_at(), 0);
#pragma unroll 1
  for (int place = blockIdx.x; place < walk_places(p); place += gridDim.x, before += walk_frames(p)) {
    const WalkPlace here(p, place);
#pragma unroll 1
    for (int frame = 0; frame < p.out[0]; ++frame) {
      float acc[1][1][Config::kWidth / 2];
      const MatmulTileIndex index = here.index(frame);
      matmul_load_bias<Config>(p, index, bias);  // everyone has used that of the frame before
      walk_accumulate<Config>(p, acc, shared, group, frame, before);
      ptx::named_barrier(kStagingFree, kWideThreads);
      matmul_stage<Config>(p, acc, index, group, group * Config::kRows, bias, shared.staging(), shared.residual_at(), residualParity);
      ptx::named_barrier(kStagingFull, kWideThreads);
      if constexpr (Config::kMoments) {
        matmul_staged_moments<Config>(p, index, shared.staging());
        ptx::named_barrier_arrive(kStagingRead, kWideThreads);
      }
    }
  }
}

/** The storing warp. */
template <class Config> __device__ __forceinline__ void walk_store(const MatmulSm90Params& p, const WalkShared<Config>& shared) {
#pragma unroll 1
  for (int place = blockIdx.x; place < walk_places(p); place += gridDim.x) {
    const WalkPlace here(p, place);
#pragma unroll 1
    for (int frame = 0; frame < p.out[0]; ++frame)
      matmul_store_wide_tile<Config>(p, here.index(frame), shared.staging(), shared.residual_at());
  }
  if ((threadIdx.x & 31) == 0) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void walk_init(const WalkShared<Config>& shared) {
  constexpr int kConsumerWarps = 8, kWarpgroupWarps = 4;
  ptx::mbarrier_init(shared.filters_at(), 1);
  ptx::mbarrier_init(shared.residual_at(), 1);
  for (int i = 0; i < WalkShared<Config>::kSources; ++i) {
    ptx::mbarrier_init(shared.loaded_at(i), 1);
    ptx::mbarrier_init(shared.ready_at(i), kWarpgroupWarps);
    ptx::mbarrier_init(shared.used_at(i), kConsumerWarps);
  }
  ptx::fence_mbarrier_init();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_walk(const MatmulNormedParams& params) {
  static_assert(Config::kWide && Config::kCluster == 1 && Config::kTileM % (kNormingBatch * kWalkLanes) == 0,
                "results leave as those of wide tiles, and normalising warps take whole batches");
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(16) float bias[Config::kBiases];
  const MatmulSm90Params& p = params.matmul;
  const WalkShared<Config> shared{(shared_address(dynamicShared) + 1023) & ~1023u};
  if (threadIdx.x == 0) walk_init(shared);
  __syncthreads();

  const int warpgroup = threadIdx.x / 128;
  if (warpgroup < 2) {
    ptx::registers_raise<160>();
    walk_consume<Config>(p, shared, warpgroup, bias);
  } else if (warpgroup > 2) {
    ptx::registers_lower<64>();
    walk_normalise<Config>(params, shared, warpgroup - 3);
  } else {
    ptx::registers_lower<24>();
    if (threadIdx.x == 256) walk_load<Config>(p, shared);
    if (threadIdx.x / 32 == 9) walk_store<Config>(p, shared);
  }
}

}  // namespace vd::device
