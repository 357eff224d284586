// The Hopper matrix core for 3x3 filters over a clip whose channel groups are normalised on the way, so that the normalised clip never lies
// in memory. A tile's pixels come once for all nine taps, with the border that they see: 64 channels at a time, two such sources in turn.
//
//   normalising warps                               consumers                                  weights' thread
//   wait used, load source ─► wait loaded,          wait ready[source]; for each tap:          ring of weights' tiles, as in
//   act(x · scale + shift) in place ─► ready ─────► wait full, wgmma from the source, shifted  matmul_sm90.cuh
//                                                   by the tap ─► used[source]
//
// A group of eight rows of a product is eight pixels beside each other, 1 KiB of the source; the next group lies below, a line of ten
// pixels away. Pixels outside the frame are the copy engine's zeros and stay as they are: the convolution pads what is normalised. Results
// leave as those of wide tiles do. Loops over tiles stand in each function: with one that calls a lambda the consumers spill 300 bytes.
// Figures: docs/kernels/group_norm_conv.md.
#pragma once
#include "matmul_sm90.cuh"
#include "matmul_sm90_normed.h"
#include "norm_activation.cuh"

namespace vd::device {

inline constexpr int kNormedSources = 2;
/** Pixels of a thread whose loads, special functions and stores do not wait for each other. */
inline constexpr int kNormingBatch = 4;

/** Who does what in a block of a tile. */
template <class Config> struct NormedRoles {
  static constexpr int kWarps = normed_warps(Config::kTile), kThreads = normed_threads(Config::kTile);
  /** Pixels that the normalising warps take at a time: eight threads have the 64 channels of one. */
  static constexpr int kLanes = 32 * kWarps / 8;
  /** The first thread that normalises: of the last warps. */
  static constexpr int kFirstThread = kThreads - 32 * kWarps;
  /** A warpgroup of their own, or the last warps of that of weights and results, where else two warps find moments. */
  static constexpr bool kApart = kWarps == 4;
  static constexpr int kMeasuring = kApart ? kMeasuringThreads : 0;
  static constexpr int kNormingRegisters = 88, kMovingRegisters = 40;
  static constexpr int kConsumerRegisters = kApart ? 192 : 208;
};

/** Shared memory: the sources, the ring of weights, staged results, barriers. */
template <class Config> struct NormedShared {
  static constexpr int kSource = bordered_source_bytes(Config::kTile), kPixels = bordered_source_pixels(Config::kTile);
  uint32_t base;
  __device__ __forceinline__ uint32_t source(int i) const { return base + i * kSource; }
  __device__ __forceinline__ uint32_t weights(int s) const { return source(kNormedSources) + s * Config::kStageBytesB; }
  __device__ __forceinline__ uint32_t staging() const { return weights(Config::kStages); }
  __device__ __forceinline__ uint32_t full_at(int s) const { return staging() + Config::kAllStagingBytes + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
  __device__ __forceinline__ uint32_t residual_at() const { return full_at(2 * Config::kStages); }
  __device__ __forceinline__ uint32_t loaded_at(int i) const { return residual_at() + 8 * (1 + i); }
  __device__ __forceinline__ uint32_t ready_at(int i) const { return loaded_at(kNormedSources + i); }
  __device__ __forceinline__ uint32_t used_at(int i) const { return loaded_at(2 * kNormedSources + i); }
};

/** The thread of the weights: every stage of every tile of this block. */
template <class Config>
__device__ __forceinline__ void normed_load_weights(const MatmulSm90Params& p, const NormedShared<Config>& shared, int rank, int numTiles) {
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
#pragma unroll 1
    for (int c = 0; c < p.blocksPerTap * Config::kBlock; c += Config::kBlock)
#pragma unroll 1
      for (int tap = 0; tap < kFilterTaps; ++tap) {
        await_free(shared, at);
        const uint32_t full = expect_bytes(shared, at, Config::kStageBytesB);
        matmul_load_b<Config>(p, shared.weights(at.stage), full, c, tap, index.n * Config::kTileN, 0, rank);
        at.advance();
      }
  }
}

/** Scale and shift of eight channels. */
struct NormedAffine {
  float scale[8], shift[8];
};

/** Those of the channels from `c` of a frame, times the factor of what is applied; zeros behind the last. No load waits for another. */
__device__ __forceinline__ NormedAffine normed_affine(const MatmulSourceNorm& p, int frame, int c, int channels) {
  const bool there = c < channels;
  const float* row = p.stats + static_cast<int64_t>(frame / p.framesPerRow) * p.groups * p.statsPitch;
  const float factor = p.silu ? NormHalvedSilu::kFactor : NormNoActivation::kFactor;
  NormedAffine affine;
  float mean[8], deviation[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int channel = there ? c + i : 0;
    const float* stats = row + channel / p.groupChannels * p.statsPitch;
    mean[i] = __ldg(stats);
    deviation[i] = __ldg(stats + 1);
    affine.scale[i] = __ldg(p.weight + channel);
    affine.shift[i] = __ldg(p.bias + channel);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    affine.scale[i] = there ? factor * deviation[i] * affine.scale[i] : 0.0f;
    affine.shift[i] = there ? fmaf(-mean[i], affine.scale[i], factor * affine.shift[i]) : 0.0f;
  }
  return affine;
}

/** Vectors of some pixels of a thread, and which of them lie in the frame. */
struct NormedBatch {
  uint4 lines[kNormingBatch];
  bool inside[kNormingBatch];
};

/** Loads the vectors of the pixels from `first` of a source on. place: of the first one's. */
template <class Config>
__device__ __forceinline__ void normed_load(const MatmulSm90Params& p, const PixelBox& box, uint32_t place, int first, NormedBatch& batch) {
#pragma unroll
  for (int n = 0; n < kNormingBatch; ++n) {
    const int i = first + n * NormedRoles<Config>::kLanes, h = box.h - 1 + i / kBorderedColumns, w = box.w - 1 + i % kBorderedColumns;
    batch.inside[n] = i < NormedShared<Config>::kPixels && h >= 0 && h < p.out[1] && w >= 0 && w < p.out[2];
    if (batch.inside[n]) batch.lines[n] = ptx::load_shared16(place + n * NormedRoles<Config>::kLanes * 128);
  }
}

/** Normalises and activates a source in place, but for the pixels outside the frame. Loads are a batch ahead: the tensor cores leave shared
 *  memory little time. source: of this thread's vector of its first pixel. */
template <class Config, class Activate>
__device__ __forceinline__ void normed_apply(const MatmulSm90Params& p, const PixelBox& box, const NormedAffine& affine,
                                             const Activate& activation, uint32_t source, int lane) {
  using T = typename Config::T;
  constexpr int kStep = kNormingBatch * NormedRoles<Config>::kLanes;
  NormedBatch batch;
#pragma unroll 1
  for (int first = lane; first < NormedShared<Config>::kPixels; first += kStep, source += kStep * 128) {
    normed_load<Config>(p, box, source, first, batch);
#pragma unroll
    for (int n = 0; n < kNormingBatch; ++n) {
      float v[8];
      unpack8<T>(batch.lines[n], v);
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], affine.scale[k], affine.shift[k]);
      activation(v);
      batch.lines[n] = pack8<T>(v);
    }
#pragma unroll
    for (int n = 0; n < kNormingBatch; ++n)
      if (batch.inside[n]) ptx::store_shared16(source + n * NormedRoles<Config>::kLanes * 128, batch.lines[n]);
  }
}

/** The normalising warps: loads every source of every tile of this block, and makes it ready. thread: among theirs. */
template <class Config>
__device__ __forceinline__ void normed_make_sources(const MatmulNormedParams& params, const NormedShared<Config>& shared, int rank,
                                                    int numTiles, int thread) {
  const MatmulSm90Params& p = params.matmul;
  const int vector = thread % 8, lane = thread / 8;
  const uint32_t offset = lane * 128 + ((vector ^ (lane & 7)) << 4);  // the copy engine's swizzle, the same for every eighth pixel
  RingCursor<kNormedSources> at{0, 1};
#pragma unroll 1
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
    const PixelBox box = tile_box<Config>(p, index.m);
    const int frame = index.m < p.numMTiles ? box.b * p.out[0] + box.f : 0;
#pragma unroll 1
    for (int c = 0; c < p.blocksPerTap * Config::kBlock; c += Config::kBlock) {
      const NormedAffine affine = normed_affine(params.norm, frame, c + 8 * vector, p.channels);
      if (thread == 0) {
        ptx::mbarrier_wait(shared.used_at(at.stage), at.parity);
        ptx::mbarrier_arrive_expect_tx(shared.loaded_at(at.stage), NormedShared<Config>::kPixels * 128);
        ptx::tma_load_5d(shared.source(at.stage), &p.a, shared.loaded_at(at.stage), c, box.w - 1, box.h - 1, box.f, box.b);
      }
      ptx::mbarrier_wait(shared.loaded_at(at.stage), at.parity ^ 1);
      const uint32_t source = shared.source(at.stage) + offset;
      if (params.norm.silu) normed_apply<Config>(p, box, affine, NormHalvedSilu{}, source, lane);
      else normed_apply<Config>(p, box, affine, NormNoActivation{}, source, lane);
      ptx::fence_proxy_async();
      __syncwarp();
      if (thread % 32 == 0) ptx::mbarrier_arrive(shared.ready_at(at.stage));
      at.advance();
    }
  }
}

/** Where the consumers are among sources and stages of weights. */
template <class Config> struct NormedCursors {
  RingCursor<kNormedSources> source;
  RingCursor<Config::kStages> weights;
};

/** acc = this warpgroup's rows over all channels and taps. */
template <class Config>
__device__ __forceinline__ void normed_accumulate(float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                  const NormedShared<Config>& shared, int group, int numBlocks, NormedCursors<Config>& at) {
  using Product = ptx::Wgmma<typename Config::T, Config::kWidth, 0>;
  constexpr int kLineBytes = kBorderedColumns * 128, kGroupLines = Config::kRows / 8;
  static_assert(Config::kColBlocks == 1, "one product is as wide as the tile");
  int lastStage = 0, tap = 0;
  for (int k = 0; k < numBlocks * kFilterTaps; ++k) {
    if (tap == 0) ptx::mbarrier_wait(shared.ready_at(at.source.stage), at.source.parity);
    ptx::mbarrier_wait(shared.full_at(at.weights.stage), at.weights.parity);
    const uint32_t source = shared.source(at.source.stage) + group * kGroupLines * kLineBytes;
    const uint64_t a = ptx::matrix_descriptor_spaced(source + (tap / 3 * kBorderedColumns + tap % 3) * 128, kLineBytes);
    const uint64_t b = ptx::matrix_descriptor(shared.weights(at.weights.stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
      for (int m = 0; m < Config::kRowBlocks; ++m)
        Product::run(acc[m][0], a + m * (8 * kLineBytes >> 4) + step * 2, b + step * 2, k > 0 || step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (k > 0) {
      release_stage<Config::kCluster>(shared.empty_at(lastStage));
      if (tap == 0) release_stage<1>(shared.used_at(at.source.stage ^ 1));
    }
    lastStage = at.weights.stage;
    at.weights.advance();
    if (++tap == kFilterTaps) {
      tap = 0;
      at.source.advance();
    }
  }
  ptx::wgmma_wait<0>();
  release_stage<Config::kCluster>(shared.empty_at(lastStage));
  release_stage<1>(shared.used_at(at.source.stage ^ 1));
}

/** A consumer warpgroup: products and tails of its tiles. */
template <class Config>
__device__ __forceinline__ void normed_consume(const MatmulSm90Params& p, const NormedShared<Config>& shared, int group, int rank,
                                               int numTiles, float* bias) {
  NormedCursors<Config> at{};
  MatmulBiasTile<Config> biasTile{bias};
  uint32_t residualParity = 0;
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    float acc[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2];
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
    biasTile.renew(p, index, group);
    normed_accumulate<Config>(acc, shared, group, p.blocksPerTap, at);
    ptx::named_barrier(kStagingFree + group, kFreeThreads);
    matmul_stage<Config>(p, acc, index, group, group * Config::kRows, bias, shared.staging(), shared.residual_at(), residualParity);
    constexpr int kMeasuring = NormedRoles<Config>::kMeasuring, kThreads = kFullThreads<Config, kMeasuring>;
    if constexpr (Config::kMoments && kMeasuring == 0) {
      ptx::named_barrier(kStagingFull, kThreads);
      matmul_staged_moments<Config>(p, index, shared.staging());
      ptx::named_barrier_arrive(kStagingRead, 256 + 32);
    } else {
      ptx::named_barrier_arrive(kStagingFull, kThreads);
    }
  }
}

template <class Config> __device__ __forceinline__ void normed_init(const NormedShared<Config>& shared) {
  constexpr int kConsumerWarps = 8;
  for (int s = 0; s < Config::kStages; ++s) {
    ptx::mbarrier_init(shared.full_at(s), 1);
    ptx::mbarrier_init(shared.empty_at(s), kConsumerWarps * Config::kCluster);
  }
  ptx::mbarrier_init(shared.residual_at(), 1);
  for (int i = 0; i < kNormedSources; ++i) {
    ptx::mbarrier_init(shared.loaded_at(i), 1);
    ptx::mbarrier_init(shared.ready_at(i), NormedRoles<Config>::kWarps);
    ptx::mbarrier_init(shared.used_at(i), kConsumerWarps);
  }
  ptx::fence_mbarrier_init();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_normed(const MatmulNormedParams& params) {
  static_assert(Config::kWide && Config::kCluster == 2, "results leave as those of wide tiles, weights are shared by two blocks");
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(16) float biases[2][Config::kBiases];
  const MatmulSm90Params& p = params.matmul;
  const NormedShared<Config> shared{ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u)};
  const int rank = static_cast<int>(ptx::cluster_block_rank());
  const int numTiles = (p.numMTiles + Config::kCluster - 1) / Config::kCluster * p.numNTiles;
  if (threadIdx.x == 0) normed_init(shared);
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();

  using Roles = NormedRoles<Config>;
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup < 2) {
    ptx::registers_raise<Roles::kConsumerRegisters>();
    normed_consume<Config>(p, shared, warpgroup, rank, numTiles, biases[warpgroup]);
  } else if (Roles::kApart && warpgroup == 3) {
    ptx::registers_lower<Roles::kNormingRegisters>();
    normed_make_sources<Config>(params, shared, rank, numTiles, threadIdx.x - Roles::kFirstThread);
  } else {
    ptx::registers_lower<Roles::kApart ? Roles::kMovingRegisters : Roles::kNormingRegisters>();
    if (threadIdx.x == 256) normed_load_weights<Config>(p, shared, rank, numTiles);
    if (threadIdx.x / 32 == 9)
      matmul_store_wide_tiles<Config, Roles::kMeasuring>(p, rank, numTiles, shared.staging(), shared.residual_at());
    if constexpr (Roles::kMeasuring > 0 && Config::kMoments)
      if (threadIdx.x / 32 >= kMeasuringWarp) matmul_measure_wide_tiles<Config>(p, rank, numTiles, shared.staging());
    if constexpr (!Roles::kApart)
      if (threadIdx.x >= Roles::kFirstThread)
        normed_make_sources<Config>(params, shared, rank, numTiles, threadIdx.x - Roles::kFirstThread);
  }
  // A block may not leave while others still signal its barriers or write its stages.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

}  // namespace vd::device
