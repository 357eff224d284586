// Convolutions over three frames of 128 channels to 128 on Hopper, 16 bits: every frame is read once, where the other tiles read it for
// each of its taps.
//
// Plan: a block keeps all filters in shared memory, 96 KiB, and goes through the frames of 64 pixels of a place, which come into a ring of
// six tiles; then it takes the next place. Two consumer warpgroups take frames in turns. Each multiplies the three tiles that its frame
// needs and gives up those that its next one does not. The epilogue is that of staged tiles, one staging for each warpgroup.
//
//   producer: filters once; empty[s] ─► frame f's tile ─► full[s]
//   warpgroup g, frames g, g + 2, ...: wait full of f - 1, f, f + 1 in order, wgmma ─► arrive at empty of f - 1 and f ─► epilogue
#pragma once
#include "matmul_sm90_staged.cuh"
#include "ptx/matrix_descriptor.cuh"
#include "ptx/registers.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "ring_sm90.cuh"

namespace vd::device {

template <class Config> struct FramesShared {
  static constexpr int kTileBytes = Config::kTileM * kFramesChannels * 2, kSliceBytes = Config::kTileM * 128;
  static constexpr int kFilterBytes = Config::kTileN * 128;  // of one tap and 64 channels
  static constexpr int kSlices = kFramesChannels / 64;
  uint32_t ring;
  __device__ __forceinline__ uint32_t a(int s) const { return ring + s * kTileBytes; }
  __device__ __forceinline__ uint32_t filter(int tap, int slice) const {
    return a(Config::kStages) + (tap * kSlices + slice) * kFilterBytes;
  }
  __device__ __forceinline__ uint32_t staging(int set) const { return filter(kFramesTaps, 0) + set * Config::kStagingBytes; }
  __device__ __forceinline__ uint32_t full_at(int s) const { return staging(2) + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
  __device__ __forceinline__ uint32_t residual_at(int set) const { return full_at(2 * Config::kStages + set); }
  __device__ __forceinline__ uint32_t filters_at() const { return residual_at(2); }
};

/** Places of 64 pixels in a frame. Blocks take those of all clips. */
__device__ __forceinline__ int frames_places(const MatmulSm90Params& p) { return p.tiles[1] * p.tiles[2]; }
/** The tile of frame f at a place: tiles are numbered place by place within frames. */
__device__ __forceinline__ int frames_tile(const MatmulSm90Params& p, int place, int f) {
  const int places = frames_places(p), clip = place / places;
  return (clip * p.out[0] + f) * places + place - clip * places;
}

template <class Config>
__device__ __forceinline__ void frames_produce(const MatmulSm90Params& p, const FramesShared<Config>& shared, int numPlaces) {
  using Shared = FramesShared<Config>;
  ptx::mbarrier_arrive_expect_tx(shared.filters_at(), kFramesTaps * Shared::kSlices * Shared::kFilterBytes);
#pragma unroll 1
  for (int i = 0; i < kFramesTaps * Shared::kSlices * 2; ++i) {
    const int tap = i / (2 * Shared::kSlices), slice = i / 2 % Shared::kSlices, half = i % 2;
    ptx::tma_load_4d(shared.filter(tap, slice) + half * Shared::kFilterBytes / 2, &p.b, shared.filters_at(), slice * 64, tap,
                     half * Config::kHalfN, 0);
  }
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int place = blockIdx.x; place < numPlaces; place += gridDim.x) {
    const PixelBox box = pixel_box(p, frames_tile(p, place, 0));
#pragma unroll 1
    for (int f = 0; f < p.out[0] + kFramesTaps - 1; ++f) {
      await_free(shared, at);
      const uint32_t full = expect_bytes(shared, at, Shared::kSlices * p.aBytes);
#pragma unroll
      for (int slice = 0; slice < Shared::kSlices; ++slice)
        ptx::tma_load_5d(shared.a(at.stage) + slice * Shared::kSliceBytes, &p.a, full, slice * 64, box.w, box.h, f - p.padding[0], box.b);
      at.advance();
    }
  }
}

/** How far a warpgroup has come in the ring: which tiles it has waited for, and which it has given up. */
template <class Config> struct FramesCursor {
  RingCursor<Config::kStages> seen, released;
  int numSeen = 0, numReleased = 0;  // of a place

  __device__ __forceinline__ void see_next(const FramesShared<Config>& shared) {
    ptx::mbarrier_wait(shared.full_at(seen.stage), seen.parity);
    seen.advance();
    ++numSeen;
  }
  /** Waits for the tiles in front of `end`, each of them: a barrier tells only the parity of its phase. */
  __device__ __forceinline__ void see(const FramesShared<Config>& shared, int end) {
    while (numSeen < end) see_next(shared);
  }
  __device__ __forceinline__ void release(const FramesShared<Config>& shared, int end) {
    for (; numReleased < end; ++numReleased) {
      release_stage<1>(shared.empty_at(released.stage));
      released.advance();
    }
  }
};

/** acc = the three tiles from `first` on, times the filters. */
template <class Config>
__device__ __forceinline__ void frames_multiply(float (&acc)[1][1][Config::kWidth / 2], const FramesShared<Config>& shared,
                                                FramesCursor<Config>& at, int f, int first) {
  using Shared = FramesShared<Config>;
  using Product = ptx::Wgmma<typename Config::Operand, Config::kWidth, 0>;
  at.see(shared, f + 1);
#pragma unroll
  for (int tap = 0; tap < kFramesTaps; ++tap) {
    if (tap > 0) at.see_next(shared);
    ptx::wgmma_fence();
    const int stage = first + tap < Config::kStages ? first + tap : first + tap - Config::kStages;
#pragma unroll
    for (int slice = 0; slice < Shared::kSlices; ++slice) {
      const uint64_t a = ptx::matrix_descriptor(shared.a(stage) + slice * Shared::kSliceBytes);
      const uint64_t b = ptx::matrix_descriptor(shared.filter(tap, slice));
#pragma unroll
      for (int step = 0; step < 4; ++step) Product::run(acc[0][0], a + 2 * step, b + 2 * step, tap > 0 || slice > 0 || step > 0);
    }
  }
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
}

/** A consumer warpgroup: every second frame of each place. */
template <class Config>
__device__ __forceinline__ void frames_consume(const MatmulSm90Params& p, const FramesShared<Config>& shared, int group, int numPlaces,
                                               float* bias) {
  const uint32_t staging = shared.staging(group), barrier = shared.residual_at(group);
  FramesCursor<Config> at;
  uint32_t residualParity = 0;
  ptx::mbarrier_wait(shared.filters_at(), 0);
  for (int place = blockIdx.x; place < numPlaces; place += gridDim.x) {
    at.numSeen = at.numReleased = 0;
#pragma unroll 1
    for (int f = group; f < p.out[0]; f += 2) {
      float acc[1][1][Config::kWidth / 2];
      const MatmulTileIndex index = {0, 0, frames_tile(p, place, f)};
      if constexpr (Config::kMoments) matmul_set_barrier<Config>(group);  // nobody reads the results of the tile before
      if (matmul_first_of_set<Config>()) matmul_open_staging<Config>(p, index, staging, barrier);
      matmul_set_barrier<Config>(group);  // the tile before no longer reads the bias, its stores no longer the staging
      matmul_load_bias<Config>(p, index, bias);
      at.see(shared, f);
      at.release(shared, f);  // in front of a place's first frames lies a tile that only the other warpgroup needs
      frames_multiply<Config>(acc, shared, at, f, at.released.stage);
      at.release(shared, f + 2);
      matmul_set_barrier<Config>(group);
      matmul_store_staged<Config>(p, acc, index, group, 0, bias, staging, barrier, residualParity);
      if constexpr (Config::kMoments) matmul_staged_moments<Config>(p, index, staging);
    }
    at.see(shared, p.out[0] + kFramesTaps - 1);
    at.release(shared, p.out[0] + kFramesTaps - 1);
  }
  if (matmul_first_of_set<Config>()) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_frames(const MatmulSm90Params& p) {
  static_assert(Config::kPingpong && Config::kStaged && Config::kRowBlocks == 1 && Config::kColBlocks == 1 && Config::kCluster == 1);
  static_assert(sizeof(typename Config::Operand) == 2, "slices of 64 channels are 128 bytes");
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(16) float biases[2][Config::kTileN];
  FramesShared<Config> shared;
  shared.ring = (shared_address(dynamicShared) + 1023) & ~1023u;
  const int numPlaces = p.numMTiles / p.out[0];
  if (threadIdx.x == 0) {
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), 8);  // warps of both warpgroups
    }
    for (int set = 0; set < 2; ++set) ptx::mbarrier_init(shared.residual_at(set), 1);
    ptx::mbarrier_init(shared.filters_at(), 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 2) {
    ptx::registers_lower<40>();
    if (threadIdx.x == 256) frames_produce<Config>(p, shared, numPlaces);
  } else {
    ptx::registers_raise<232>();
    frames_consume<Config>(p, shared, warpgroup, numPlaces, biases[warpgroup]);
  }
}

}  // namespace vd::device
