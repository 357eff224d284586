// The Hopper matrix core for 3x1x1 filters over a clip whose channel groups are normalised on the way, so that the normalised clip never
// lies in memory. A block walks along the frames of two tiles of 64 pixels: the pixels of a frame come and are normalised once for the
// three results that see them, three frames in turn, and the filters stay in shared memory. So a result costs the memory one read and one
// write.
//
// Each tile has a loading thread, a normalising warpgroup, one that multiplies and a storing warp of its own. Those that multiply take
// turns: one's results leave while the other's products run.
//
//   loading thread              normalising warpgroup        multiplying warpgroup, for the results of each frame
//   wait used, a frame's ─────► wait loaded, act(x · scale ─► its turn; for each tap: wait ready, wgmma; behind the last result that
//   pixels                      + shift) in place ─► ready    sees a source ─► used; the other's turn; results to staging ─► storing warp
//
// In 8 bits what is normalised becomes codes of half the size in places of their own, so that frames arrive ahead of those that are
// multiplied: the loading thread waits until one is taken, the normalising warpgroup until codes are used.
//
// Before a named barrier, which counts whole warps, a warp's threads come together again: waiting for data lets them part.
//
// Frames in front of the first and behind the last are left out: the convolution pads what is normalised. A clip's results may be fewer or
// more than its frames, by one at each end. Figures: docs/kernels/group_norm_conv.md.
#pragma once
#include "matmul_sm90_normed.cuh"
#include "ptx/cluster.cuh"
#include "quantized.cuh"

namespace vd::device {

inline constexpr int kWalkTaps = 3;
/** Bytes of a block of a tile's pixels: 64 channels of them, or codes of 128. */
inline constexpr int kWalkBlockBytes = kWalkPixels * 128;

/** Named barriers, each tile's its own but the last two; matmul_set_barrier has 3 and 4. */
enum WalkBarrier : int { kWalkTurn = 1, kWalkFree = 5, kWalkFull = 7, kWalkRead = 9, kWalkMoments = 11, kWalkMomentsTaken = 12 };
/** Threads that meet at them: a warpgroup and a storing warp, or both warpgroups. */
inline constexpr int kWalkStagingThreads = 128 + 32, kWalkBothThreads = 256;

/** Shared memory: frames as they are multiplied, frames that arrive where those lie elsewhere, filters, staged results, biases, the
 *  moments of one tile, barriers. */
template <class Config> struct WalkShared {
  static constexpr bool kCodes = Config::kScaled;
  static constexpr int kFrames = Config::kStages, kArrivals = kCodes ? kWalkArrivals : kFrames;
  /** Blocks of channels of what is multiplied. */
  static constexpr int kBlocks = kCodes ? 1 : kWalkBlocks;
  uint32_t base;
  __device__ __forceinline__ uint32_t frame(int stage, int half, int block) const {
    return base + ((stage * 2 + half) * kBlocks + block) * kWalkBlockBytes;
  }
  __device__ __forceinline__ uint32_t arrival(int stage, int half, int block) const {
    return kCodes ? frame(kFrames, 0, 0) + ((stage * 2 + half) * kWalkBlocks + block) * kWalkBlockBytes : frame(stage, half, block);
  }
  __device__ __forceinline__ uint32_t filters(int tap, int block) const {
    return arrival(kArrivals, 0, 0) + (tap * kBlocks + block) * Config::kStageBytesB;
  }
  __device__ __forceinline__ uint32_t staging(int half) const { return filters(kWalkTaps, 0) + half * kWalkPixels * 64; }
  __device__ __forceinline__ uint32_t biases() const { return staging(0) + Config::kAllStagingBytes; }
  __device__ __forceinline__ uint32_t moments() const { return biases() + 2 * Config::kBiases * 4; }
  __device__ __forceinline__ uint32_t filters_at() const { return moments() + Config::kTileN * 8; }
  __device__ __forceinline__ uint32_t residual_at(int half) const { return filters_at() + 8 * (1 + half); }
  __device__ __forceinline__ uint32_t ready_at(int stage, int half) const { return residual_at(2) + 8 * (stage * 2 + half); }
  __device__ __forceinline__ uint32_t used_at(int stage, int half) const { return ready_at(kFrames + stage, half); }
  __device__ __forceinline__ uint32_t loaded_at(int stage, int half) const { return used_at(kFrames + stage, half); }
  /** A place for the next frame: one whose pixels have been taken, or whose results have. */
  __device__ __forceinline__ uint32_t free_at(int stage, int half) const {
    return kCodes ? loaded_at(kArrivals + stage, half) : used_at(stage, half);
  }
};

__device__ __forceinline__ int walk_frames(const MatmulSm90Params& p) { return p.lastFrame + 1; }
/** Tiles of 64 pixels of a frame, and pairs of them in all clips. */
__device__ __forceinline__ int walk_tiles(const MatmulSm90Params& p) { return p.tiles[1] * p.tiles[2]; }
__device__ __forceinline__ int walk_pairs(const MatmulSm90Params& p) {
  return p.numMTiles / (p.out[0] * walk_tiles(p)) * ((walk_tiles(p) + 1) / 2);
}

/** Blocks of channels of what is multiplied. */
template <class Config> __device__ __forceinline__ int walk_blocks(const MatmulSm90Params& p) {
  return WalkShared<Config>::kCodes ? 1 : p.blocksPerTap;
}
/** Blocks of channels that arrive. Codes have all of them: those of absent channels are zeros. */
template <class Config> __device__ __forceinline__ int walk_arriving_blocks(const MatmulSm90Params& p) {
  return WalkShared<Config>::kCodes ? kWalkBlocks : p.blocksPerTap;
}

/** The tile that a half of a block takes through all frames of a clip. */
struct WalkPlace {
  int clip, tile, tiles, end;  // end: behind the last tile of all results, where nothing lies
  __device__ __forceinline__ WalkPlace(const MatmulSm90Params& p, int pair, int half) : tiles(walk_tiles(p)), end(p.numMTiles) {
    const int pairs = (tiles + 1) / 2;
    clip = pair / pairs;
    tile = pair % pairs * 2 + half;
  }
  /** That of a frame's results. */
  __device__ __forceinline__ MatmulTileIndex index(const MatmulSm90Params& p, int frame) const {
    return {0, 0, tile < tiles ? (clip * p.out[0] + frame) * tiles + tile : end};
  }
};

/** Calls body(place) for each tile of a half of this block. */
template <class Body> __device__ __forceinline__ void for_each_place(const MatmulSm90Params& p, int half, Body&& body) {
#pragma unroll 1
  for (int pair = blockIdx.x; pair < walk_pairs(p); pair += gridDim.x) body(WalkPlace(p, pair, half));
}

/** A loading thread: the filters, if they are its, then every source of its half. */
template <class Config> __device__ __forceinline__ void walk_load(const MatmulSm90Params& p, const WalkShared<Config>& shared, int half) {
  const int blocks = walk_blocks<Config>(p);
  if (half == 0) {
    ptx::mbarrier_arrive_expect_tx(shared.filters_at(), kWalkTaps * blocks * Config::kStageBytesB);
    for (int tap = 0; tap < kWalkTaps; ++tap)
      for (int block = 0; block < blocks; ++block)
        matmul_load_b<Config>(p, shared.filters(tap, block), shared.filters_at(), block * Config::kBlock, tap, 0, 0, 0);
  }
  const int arriving = walk_arriving_blocks<Config>(p);
  RingCursor<WalkShared<Config>::kArrivals> at{0, 1};
  for_each_place(p, half, [&](const WalkPlace& place) {
    const PixelBox box = tile_box<Config>(p, place.index(p, 0).m);
#pragma unroll 1
    for (int frame = 0; frame < walk_frames(p); ++frame, at.advance()) {
      const uint32_t loaded = shared.loaded_at(at.stage, half);
      ptx::mbarrier_wait(shared.free_at(at.stage, half), at.parity);
      ptx::mbarrier_arrive_expect_tx(loaded, arriving * p.aBytes);
#pragma unroll 1
      for (int block = 0; block < arriving; ++block)
        ptx::tma_load_5d(shared.arrival(at.stage, half, block), &p.a, loaded, block * kWalkBlockChannels, box.w, box.h, frame, box.b);
    }
  });
}

/** Where a thread's vectors of pixels lie and go to, those of its next pixel `step` bytes on. */
struct WalkVectors {
  uint32_t from, to;
  int step;
  float inverse;  // of codes: what a number is multiplied with
};

/** Normalises and activates kNormingBatch vectors of a source, in place or to codes. */
template <class Config, class Activate>
__device__ __forceinline__ void walk_apply(const NormedAffine& affine, const Activate& activation, const WalkVectors& at) {
  using T = typename Config::T;
  uint4 lines[kNormingBatch];
#pragma unroll
  for (int n = 0; n < kNormingBatch; ++n) lines[n] = ptx::load_shared16(at.from + n * at.step);
#pragma unroll
  for (int n = 0; n < kNormingBatch; ++n) {
    float v[8];
    unpack8<T>(lines[n], v);
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], affine.scale[k], affine.shift[k]);
    activation(v);
    if constexpr (WalkShared<Config>::kCodes) {
      using Code = typename Config::Operand;
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = __fmul_rn(v[k], at.inverse);
      ptx::store_shared8(at.to + n * at.step, make_uint2(pack_codes4<Code>(v), pack_codes4<Code>(v + 4)));
    } else {
      ptx::store_shared16(at.to + n * at.step, pack8<T>(v));
    }
  }
}

/** Where the vectors of a thread of a normalising warpgroup lie in a frame. Neighbouring threads have those of a pixel. from, to: behind
 * the beginning of an arriving block and of what is multiplied, by the copy engine's swizzle, which is the same for every eighth pixel. */
template <class Config> struct WalkLane {
  int vector, block, step;
  uint32_t from, to;
  __device__ __forceinline__ WalkLane(int arriving) {
    const int vectors = 8 * arriving, thread = threadIdx.x % 128, lane = thread / vectors;
    vector = thread % vectors;
    block = vector / 8;
    step = 128 / vectors * 128;
    from = lane * 128 + ((vector % 8 ^ (lane & 7)) << 4);
    to = WalkShared<Config>::kCodes ? lane * 128 + ((vector / 2 ^ (lane & 7)) << 4) + vector % 2 * 8 : from;
  }
};

/** A normalising warpgroup: makes every source of its half ready. */
template <class Config>
__device__ __forceinline__ void walk_normalise(const MatmulNormedParams& params, const WalkShared<Config>& shared, int half) {
  using Shared = WalkShared<Config>;
  const MatmulSm90Params& p = params.matmul;
  const int arriving = walk_arriving_blocks<Config>(p);
  const WalkLane<Config> lane(arriving);
  const float inverse = Shared::kCodes ? 1.0f / __ldg(params.norm.codeScale) : 1.0f;
  RingCursor<Shared::kArrivals> at;
  RingCursor<Shared::kFrames> made{0, 1};
  NormedAffine affine;
  int row = -1;  // of the statistics that affine is made of: most clips have one
  for_each_place(p, half, [&](const WalkPlace& place) {
#pragma unroll 1
    for (int frame = 0; frame < walk_frames(p); ++frame, at.advance(), made.advance()) {
      const int here = place.clip * walk_frames(p) + frame;
      if (here / params.norm.framesPerRow != row) {
        row = here / params.norm.framesPerRow;
        affine = normed_affine(params.norm, here, 8 * lane.vector, p.channels);
      }
      ptx::mbarrier_wait(shared.loaded_at(at.stage, half), at.parity);
      if constexpr (Shared::kCodes) ptx::mbarrier_wait(shared.used_at(made.stage, half), made.parity);
      WalkVectors vectors{shared.arrival(at.stage, half, lane.block) + lane.from,
                          shared.frame(made.stage, half, Shared::kCodes ? 0 : lane.block) + lane.to, lane.step, inverse};
#pragma unroll 1
      for (int batch = 0; batch < arriving; ++batch) {
        if (params.norm.silu) walk_apply<Config>(affine, NormHalvedSilu{}, vectors);
        else walk_apply<Config>(affine, NormNoActivation{}, vectors);
        vectors.from += kNormingBatch * lane.step;
        vectors.to += kNormingBatch * lane.step;
      }
      ptx::fence_proxy_async();
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(shared.ready_at(made.stage, half));
        if constexpr (Shared::kCodes) ptx::mbarrier_arrive(shared.free_at(at.stage, half));
      }
    }
  });
}

/** acc = this warpgroup's results of a frame. before: sources of this block in front of the clip's. isDone: nobody waits for its turn. */
template <class Config>
__device__ __forceinline__ void walk_accumulate(const MatmulSm90Params& p, float (&acc)[1][1][Config::kWidth / 2],
                                                const WalkShared<Config>& shared, int half, int frame, uint32_t before, bool isDone) {
  using Product = ptx::Wgmma<typename Config::Operand, Config::kWidth, 0>;
  constexpr int kFrames = WalkShared<Config>::kFrames;
  const int blocks = walk_blocks<Config>(p);
  const int start = frame - p.padding[0];  // the first source that the result sees, or one in front of them
  const bool isFirst = frame == 0, isLast = frame == p.out[0] - 1;
  const int end = min(kWalkTaps, walk_frames(p) - start);
  uint32_t used = 0;  // the barrier of the source before, if no other result sees it
  bool more = false;
  __syncwarp();
  ptx::named_barrier(kWalkTurn + half, kWalkBothThreads);
#pragma unroll 1
  for (int tap = max(0, -start); tap < end; ++tap) {
    const uint32_t source = before + start + tap, parity = source / kFrames & 1;
    const int stage = static_cast<int>(source % kFrames);
    const bool isNew = isFirst || tap == kWalkTaps - 1;  // the others were ready for the frame before
    if (isNew) ptx::mbarrier_wait(shared.ready_at(stage, half), parity);
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      ptx::wgmma_fence();
      const uint64_t a = ptx::matrix_descriptor(shared.frame(stage, half, block));
      const uint64_t b = ptx::matrix_descriptor(shared.filters(tap, block));
#pragma unroll
      for (int step = 0; step < 4; ++step) Product::run(acc[0][0], a + step * 2, b + step * 2, more || step > 0);
      ptx::wgmma_commit();
      ptx::wgmma_wait<1>();
      if (used != 0) release_stage<1>(used);
      used = 0;
      more = true;
    }
    used = tap == 0 || isLast ? shared.used_at(stage, half) : 0;
  }
  __syncwarp();
  if (!isDone) ptx::named_barrier_arrive(kWalkTurn + (half ^ 1), kWalkBothThreads);
  ptx::wgmma_wait<0>();
  if (used != 0) release_stage<1>(used);
  __syncwarp();
}

/** Moments of the columns of both tiles' results of a frame: the second warpgroup merges. Each warp has a step of columns. isFirst: of all
 *  results of the block. */
template <class Config>
__device__ __forceinline__ void walk_moments(const MatmulSm90Params& p, const WalkPlace& place, const WalkShared<Config>& shared, int half,
                                             int frame, bool isFirst) {
  const int first = threadIdx.x % 128 / 32 * 32 + held_column();
  ColumnSums<typename Config::T> sums[4];
  add_rows<typename Config::T, kWalkPixels>(shared.staging(half) + threadIdx.x % 128 / 32 * Config::kStepBytes, sums);
  __syncwarp();
  ptx::named_barrier_arrive(kWalkRead + half, kWalkStagingThreads);
  const uint32_t at = shared.moments() + first * 8;
  if (half == 0) {
    if (!isFirst) ptx::named_barrier(kWalkMomentsTaken, kWalkBothThreads);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 found = sums[i].moments(kWalkPixels);
      if (holds_column()) ptx::store_shared8(at + i * 64, found.x, found.y);
    }
    __syncwarp();  // a barrier counts whole warps
    ptx::named_barrier_arrive(kWalkMoments, kWalkBothThreads);
    return;
  }
  float2 others[4];
  ptx::named_barrier(kWalkMoments, kWalkBothThreads);
#pragma unroll
  for (int i = 0; i < 4; ++i) others[i] = ptx::load_shared8(at + i * 64);
  const int64_t tile = (static_cast<int64_t>(place.clip) * p.out[0] + frame) * (place.tiles / 2) + place.tile / 2;
  float2* moments = static_cast<float2*>(p.moments) + tile * p.epilogue.n;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 found = merge_halves(others[i], sums[i].moments(kWalkPixels), kWalkPixels);
    if (holds_column() && first + 8 * i < p.epilogue.n) moments[first + 8 * i] = found;
  }
  __syncwarp();
}

/** A multiplying warpgroup: products and tails of its results. */
template <class Config>
__device__ __forceinline__ void walk_consume(const MatmulSm90Params& p, const WalkShared<Config>& shared, int half, float* bias) {
  static_assert(Config::kRowBlocks == 1 && Config::kColBlocks == 1, "one product is as large as the warpgroup's results");
  uint32_t residualParity = 0, before = 0;
  bool isFirst = true;
  if (half == 1) ptx::named_barrier_arrive(kWalkTurn, kWalkBothThreads);
  ptx::mbarrier_wait(shared.filters_at(), 0);
#pragma unroll 1
  for (int pair = blockIdx.x; pair < walk_pairs(p); pair += gridDim.x, before += walk_frames(p)) {
    const WalkPlace place(p, pair, half);
#pragma unroll 1
    for (int frame = 0; frame < p.out[0]; ++frame) {
      float acc[1][1][Config::kWidth / 2];
      const MatmulTileIndex index = place.index(p, frame);
      const bool isLast = frame == p.out[0] - 1 && pair + static_cast<int>(gridDim.x) >= walk_pairs(p);
      // Everyone has used that of the frame before.
      if (isFirst || p.epilogue.frameBias != nullptr) matmul_load_bias<Config>(p, index, bias);
      walk_accumulate<Config>(p, acc, shared, half, frame, before, half == 1 && isLast);
      ptx::named_barrier(kWalkFree + half, kWalkStagingThreads);
      matmul_stage<Config>(p, acc, index, half, 0, bias, shared.staging(half), shared.residual_at(half), residualParity);
      __syncwarp();
      ptx::named_barrier(kWalkFull + half, kWalkStagingThreads);
      if constexpr (Config::kMoments) {
        walk_moments<Config>(p, place, shared, half, frame, isFirst);
        if (half == 1 && !isLast) ptx::named_barrier_arrive(kWalkMomentsTaken, kWalkBothThreads);
      }
      isFirst = false;
    }
  }
}

/** A storing warp: residuals into staging, results out of it. */
template <class Config> __device__ __forceinline__ void walk_store(const MatmulSm90Params& p, const WalkShared<Config>& shared, int half) {
  const bool first = (threadIdx.x & 31) == 0;
  const uint32_t staging = shared.staging(half);
  for_each_place(p, half, [&](const WalkPlace& place) {
#pragma unroll 1
    for (int frame = 0; frame < p.out[0]; ++frame) {
      const MatmulTileIndex index = place.index(p, frame);
      if (first && p.epilogue.residual != nullptr) matmul_load_residual<Config>(p, p.residual, index, staging, shared.residual_at(half));
      __syncwarp();
      ptx::named_barrier_arrive(kWalkFree + half, kWalkStagingThreads);
      ptx::named_barrier(kWalkFull + half, kWalkStagingThreads);
      if (first) {
        matmul_store_boxes<Config>(p, index, staging);
        ptx::bulk_wait_read();
      }
      __syncwarp();
      if constexpr (Config::kMoments) ptx::named_barrier(kWalkRead + half, kWalkStagingThreads);
    }
  });
  if (first) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void walk_init(const WalkShared<Config>& shared) {
  constexpr int kWarps = 4;  // of a warpgroup
  ptx::mbarrier_init(shared.filters_at(), 1);
  for (int half = 0; half < 2; ++half) {
    ptx::mbarrier_init(shared.residual_at(half), 1);
    for (int stage = 0; stage < WalkShared<Config>::kFrames; ++stage) {
      ptx::mbarrier_init(shared.ready_at(stage, half), kWarps);
      ptx::mbarrier_init(shared.used_at(stage, half), kWarps);
    }
    for (int stage = 0; stage < WalkShared<Config>::kArrivals; ++stage) {
      ptx::mbarrier_init(shared.loaded_at(stage, half), 1);
      if constexpr (WalkShared<Config>::kCodes) ptx::mbarrier_init(shared.free_at(stage, half), kWarps);
    }
  }
  ptx::fence_mbarrier_init();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_walk(const MatmulNormedParams& params) {
  static_assert(Config::kOwnStaging && Config::kCluster == 1 && 64 % (8 * kNormingBatch) == 0,
                "each warpgroup stages its own results, and normalising threads take whole batches");
  extern __shared__ __align__(1024) uint8_t dynamicShared[];  // nothing lies in front of it
  const MatmulSm90Params& p = params.matmul;
  const WalkShared<Config> shared{ptx::warp_uniform(shared_address(dynamicShared))};
  if (threadIdx.x == 0) walk_init(shared);
  __syncthreads();

  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup < 2) {
    ptx::registers_raise<160>();
    auto* biases = reinterpret_cast<float*>(dynamicShared + (shared.biases() - shared.base));
    walk_consume<Config>(p, shared, warpgroup, biases + warpgroup * Config::kBiases);
  } else if (warpgroup > 2) {
    ptx::registers_lower<64>();
    walk_normalise<Config>(params, shared, warpgroup - 3);
  } else {
    ptx::registers_lower<32>();
    const int warp = threadIdx.x / 32 % 4;
    if (warp >= 2) walk_store<Config>(p, shared, warp - 2);
    else if (threadIdx.x % 32 == 0) walk_load<Config>(p, shared, warp);
  }
}

}  // namespace vd::device
