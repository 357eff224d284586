// The Hopper matrix core for 3x1x1 filters over a clip whose channel groups are normalised on the way, as matmul_sm90_walk.cuh, with the
// frames in registers. There a frame's place in shared memory is free again only behind the last result that sees it: of three places each
// waits for memory, then for its norm, then for a product, one behind the other. Here a warpgroup takes a frame's pixels into registers as
// soon as they are there, normalises them there while the products of the two frames before run, and multiplies from registers: what a
// frame leaves free is filled while it is used.
//
//   loading thread              multiplying warpgroup, for the results of each frame
//   wait used, 64 channels ───► products of the two frames before; wait loaded, pixels to registers ─► used; act(x · scale + shift);
//   of a frame's pixels         the new frame's products; results to staging ─► storing warp
//
// Frames outside of the clip are zeros in registers. Sums run over taps and channels in the same order as there, so that both leave the
// same bits. Figures: docs/kernels/group_norm_conv.md.
#pragma once
#include "matmul_sm90_walk.cuh"

namespace vd::device {

/** Fragments of 16 channels of a frame's 64 pixels that a warpgroup holds. */
inline constexpr int kHeldFragments = 4 * kWalkBlocks;

/** Shared memory: rings of sources, each 64 channels of a tile, filters, staged results, biases, the moments of one tile, scales and shifts
 *  of each half, barriers. */
template <class Config> struct HeldWalkShared {
  uint32_t base;
  __device__ __forceinline__ uint32_t source(int stage, int half) const { return base + (stage * 2 + half) * kWalkSourceBytes; }
  __device__ __forceinline__ uint32_t filters(int tap, int block) const {
    return source(Config::kStages, 0) + (tap * kWalkBlocks + block) * Config::kStageBytesB;
  }
  __device__ __forceinline__ uint32_t staging(int half) const { return filters(kWalkTaps, 0) + half * kWalkPixels * 64; }
  __device__ __forceinline__ uint32_t biases() const { return staging(0) + Config::kAllStagingBytes; }
  __device__ __forceinline__ uint32_t moments() const { return biases() + 2 * Config::kTileN * 4; }
  /** Of each pair of channels two scales, then two shifts. */
  __device__ __forceinline__ uint32_t affine(int half) const { return moments() + Config::kTileN * 8 + half * kHeldAffineBytes; }
  __device__ __forceinline__ uint32_t filters_at() const { return affine(2); }
  __device__ __forceinline__ uint32_t residual_at(int half) const { return filters_at() + 8 * (1 + half); }
  __device__ __forceinline__ uint32_t loaded_at(int stage, int half) const { return residual_at(2) + 8 * (stage * 2 + half); }
  __device__ __forceinline__ uint32_t used_at(int stage, int half) const { return loaded_at(Config::kStages + stage, half); }
};

/** A loading thread: the filters, if they are its, then every source of its half. */
template <class Config>
__device__ __forceinline__ void held_walk_load(const MatmulSm90Params& p, const HeldWalkShared<Config>& shared, int half) {
  if (half == 0) walk_load_filters<Config>(p, shared);
  RingCursor<Config::kStages> at{0, 1};
  for_each_place(p, half, [&](const WalkPlace& place) {
    const PixelBox box = tile_box<Config>(p, place.index(p, 0).m);
#pragma unroll 1
    for (int frame = 0; frame < walk_frames(p); ++frame)
#pragma unroll 1
      for (int block = 0; block < kWalkBlocks; ++block, at.advance()) {
        const uint32_t loaded = shared.loaded_at(at.stage, half);
        ptx::mbarrier_wait(shared.used_at(at.stage, half), at.parity);
        ptx::mbarrier_arrive_expect_tx(loaded, p.aBytes);
        ptx::tma_load_5d(shared.source(at.stage, half), &p.a, loaded, block * Config::kBlock, box.w, box.h, frame, box.b);
      }
  });
}

/** What a multiplying warpgroup holds: three frames, and where it stands. */
template <class Config> struct HeldFrames {
  uint32_t at[kWalkTaps][kHeldFragments][4];
  RingCursor<Config::kStages> next;
  int statsRow = -1;  // of the statistics that scales and shifts are made of: most clips have one
};

/** Fills the table of scales and shifts with those of a frame. By a warpgroup, a channel each. */
template <class Config>
__device__ __forceinline__ void held_load_affine(const MatmulSourceNorm& norm, int frame, int channels, uint32_t table, int half) {
  static_assert(kWalkBlocks * 64 == 128, "a thread has a channel");
  const int c = threadIdx.x % 128, channel = min(c, channels - 1);
  const float* stats =
      norm.stats + (static_cast<int64_t>(frame / norm.framesPerRow) * norm.groups + channel / norm.groupChannels) * norm.statsPitch;
  const float scale = __ldg(stats + 1) * __ldg(norm.weight + channel), shift = fmaf(-__ldg(stats), scale, __ldg(norm.bias + channel));
  matmul_set_barrier<Config>(half);  // everyone has read those of the frame before
  const uint32_t at = table + c / 2 * 16 + c % 2 * 4;
  ptx::store_shared4(at, c < channels ? __float_as_uint(scale) : 0);
  ptx::store_shared4(at + 8, c < channels ? __float_as_uint(shift) : 0);
  matmul_set_barrier<Config>(half);
}

/** Normalises and activates a frame where it is. */
template <class Config, class Activate>
__device__ __forceinline__ void held_apply(uint32_t (&a)[kHeldFragments][4], const Activate& activation, uint32_t table) {
  using T = typename Config::T;
#pragma unroll
  for (int step = 0; step < kHeldFragments; ++step)
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const uint4 affine = ptx::load_shared16(table + (step * 8 + pair * 4 + (threadIdx.x & 3)) * 16);
      const float2 first = unpack2<T>(a[step][2 * pair]), second = unpack2<T>(a[step][2 * pair + 1]);
      float v[4] = {first.x, first.y, second.x, second.y};
#pragma unroll
      for (int k = 0; k < 4; ++k)
        v[k] = fmaf(v[k], __uint_as_float(k % 2 ? affine.y : affine.x), __uint_as_float(k % 2 ? affine.w : affine.z));
      activation(v);
      a[step][2 * pair] = pack2<T>(v[0], v[1]);
      a[step][2 * pair + 1] = pack2<T>(v[2], v[3]);
    }
}

/** Takes the pixels of source `frame` of a clip, zeros where it has none. */
template <class Config, int kPlace>
__device__ __forceinline__ void held_take(const MatmulNormedParams& params, const HeldWalkShared<Config>& shared, const WalkPlace& place,
                                          HeldFrames<Config>& frames, int frame, int half) {
  const MatmulSm90Params& p = params.matmul;
  uint32_t (&a)[kHeldFragments][4] = frames.at[kPlace];
  if (frame < 0 || frame >= walk_frames(p)) {
#pragma unroll
    for (int step = 0; step < kHeldFragments; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) a[step][i] = 0;
    return;
  }
  const int here = place.clip * walk_frames(p) + frame;
  if (here / params.norm.framesPerRow != frames.statsRow) {
    frames.statsRow = here / params.norm.framesPerRow;
    __syncwarp();
    held_load_affine<Config>(params.norm, here, p.channels, shared.affine(half), half);
  }
  const int lane = threadIdx.x & 31, row = threadIdx.x % 128 / 32 * 16 + (lane & 15);
#pragma unroll
  for (int block = 0; block < kWalkBlocks; ++block) {
    ptx::mbarrier_wait(shared.loaded_at(frames.next.stage, half), frames.next.parity);
    const uint32_t line = shared.source(frames.next.stage, half) + row * 128;
#pragma unroll
    for (int step = 0; step < 4; ++step) ptx::ldmatrix_x4(a[4 * block + step], line + (((2 * step + (lane >> 4)) ^ (row & 7)) << 4));
    __syncwarp();
    release_stage<1>(shared.used_at(frames.next.stage, half));
    frames.next.advance();
  }
  if (params.norm.silu) held_apply<Config>(a, NormSilu{}, shared.affine(half));
  else held_apply<Config>(a, NormNoActivation{}, shared.affine(half));
}

/** acc (+)= a frame's pixels · the filters of a tap. */
template <class Config>
__device__ __forceinline__ void held_multiply(float (&acc)[Config::kWidth / 2], const uint32_t (&a)[kHeldFragments][4],
                                              const HeldWalkShared<Config>& shared, int tap) {
  using Product = ptx::WgmmaRegisters<typename Config::T, Config::kWidth, 0>;
#pragma unroll
  for (int block = 0; block < kWalkBlocks; ++block) {
    uint32_t filters = shared.filters(tap, block);
    asm volatile("" : "+r"(filters));  // found anew: descriptors that stay take registers that frames need
    const uint64_t b = ptx::matrix_descriptor(filters);
#pragma unroll
    for (int step = 0; step < 4; ++step) Product::run(acc, a[4 * block + step], b + step * 2, tap > 0 || block > 0 || step > 0);
  }
}

/** acc = this warpgroup's results of a frame; takes its last source into `kPlace`, the two before lie in the places that follow. */
template <class Config, int kPlace>
__device__ __forceinline__ void held_accumulate(const MatmulNormedParams& params, float (&acc)[1][1][Config::kWidth / 2],
                                                const HeldWalkShared<Config>& shared, const WalkPlace& place, HeldFrames<Config>& frames,
                                                int frame, int half) {
  ptx::wgmma_fence();
  held_multiply<Config>(acc[0][0], frames.at[(kPlace + 1) % kWalkTaps], shared, 0);
  held_multiply<Config>(acc[0][0], frames.at[(kPlace + 2) % kWalkTaps], shared, 1);
  ptx::wgmma_commit();
  held_take<Config, kPlace>(params, shared, place, frames, frame - params.matmul.padding[0] + kWalkTaps - 1, half);
  ptx::wgmma_fence();
  held_multiply<Config>(acc[0][0], frames.at[kPlace], shared, 2);
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
}

/** A multiplying warpgroup: products and tails of its results. */
template <class Config>
__device__ __forceinline__ void held_walk_consume(const MatmulNormedParams& params, const HeldWalkShared<Config>& shared, int half,
                                                  float* bias) {
  static_assert(Config::kRowBlocks == 1 && Config::kColBlocks == 1, "one product is as large as the warpgroup's results");
  const MatmulSm90Params& p = params.matmul;
  uint32_t residualParity = 0;
  bool isFirst = true;
  HeldFrames<Config> frames;
  ptx::mbarrier_wait(shared.filters_at(), 0);
#pragma unroll 1
  for (int pair = blockIdx.x; pair < walk_pairs(p); pair += gridDim.x) {
    const WalkPlace place(p, pair, half);
    const bool isLastPair = pair + static_cast<int>(gridDim.x) >= walk_pairs(p);
    const auto results = [&](auto kPlace, int frame) {
      float acc[1][1][Config::kWidth / 2];
      // Everyone has used that of the frame before.
      if (isFirst || p.epilogue.frameBias != nullptr) matmul_load_bias<Config>(p, place.index(p, frame), bias);
      held_accumulate<Config, kPlace>(params, acc, shared, place, frames, frame, half);
      __syncwarp();
      walk_tail<Config>(p, acc, shared, place, half, frame, bias, residualParity, isFirst, isLastPair && frame == p.out[0] - 1);
      isFirst = false;
    };
    held_take<Config, 0>(params, shared, place, frames, -p.padding[0], half);
    held_take<Config, 1>(params, shared, place, frames, 1 - p.padding[0], half);
#pragma unroll 1
    for (int frame = 0; frame < p.out[0]; frame += kWalkTaps) {
      results(std::integral_constant<int, 2>{}, frame);
      if (frame + 1 < p.out[0]) results(std::integral_constant<int, 0>{}, frame + 1);
      if (frame + 2 < p.out[0]) results(std::integral_constant<int, 1>{}, frame + 2);
    }
  }
}

template <class Config> __device__ __forceinline__ void held_walk_init(const HeldWalkShared<Config>& shared) {
  constexpr int kWarps = 4;  // of a warpgroup
  ptx::mbarrier_init(shared.filters_at(), 1);
  for (int half = 0; half < 2; ++half) {
    ptx::mbarrier_init(shared.residual_at(half), 1);
    for (int stage = 0; stage < Config::kStages; ++stage) {
      ptx::mbarrier_init(shared.loaded_at(stage, half), 1);
      ptx::mbarrier_init(shared.used_at(stage, half), kWarps);
    }
  }
  ptx::fence_mbarrier_init();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_held_walk(const MatmulNormedParams& params) {
  static_assert(Config::kOwnStaging && Config::kCluster == 1, "each warpgroup stages its own results");
  extern __shared__ __align__(1024) uint8_t dynamicShared[];  // nothing lies in front of it
  const MatmulSm90Params& p = params.matmul;
  const HeldWalkShared<Config> shared{shared_address(dynamicShared)};
  if (threadIdx.x == 0) held_walk_init(shared);
  __syncthreads();

  const int warpgroup = threadIdx.x / 128;
  if (warpgroup < 2) {
    ptx::registers_raise<232>();
    auto* biases = reinterpret_cast<float*>(dynamicShared + (shared.biases() - shared.base));
    held_walk_consume<Config>(params, shared, warpgroup, biases + warpgroup * Config::kTileN);
  } else {
    ptx::registers_lower<40>();
    const int warp = threadIdx.x / 32 % 4;
    if (warp >= 2) walk_store<Config>(p, shared, warp - 2);
    else if (threadIdx.x % 32 == 0) held_walk_load<Config>(p, shared, warp);
  }
}

}  // namespace vd::device
