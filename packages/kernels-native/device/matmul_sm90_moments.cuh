// What the Hopper core's epilogue adds where somebody wants the moments of its results: (mean, deviations) of each column of each tile of
// 128 pixels, which a norm of channel groups behind it needs, and would else read all results for.
#pragma once
#include "matmul_sm90_tile.cuh"
#include "pixel_moments.cuh"
#include "ptx/mbarrier.cuh"

namespace vd::device {

/** Where the moments of a tile's columns begin; tiles of a frame follow each other. */
template <class Config> __device__ __forceinline__ float2* matmul_moments_of(const MatmulSm90Params& p, const MatmulTileIndex& index) {
  const int64_t tile = static_cast<int64_t>(index.m) * p.numPhases + index.phase;
  return static_cast<float2*>(p.moments) + tile * p.epilogue.n + index.n * Config::kTileN;
}

/** The moments of a tile whose results are all in staging. Each warp of the set takes steps of 32 columns. */
template <class Config>
__device__ __forceinline__ void matmul_staged_moments(const MatmulSm90Params& p, const MatmulTileIndex& index, uint32_t staging) {
  if (index.m >= p.numMTiles) return;
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x & 31;
  float2* moments = matmul_moments_of<Config>(p, index);
#pragma unroll 1
  for (int step = warp; step < Config::kSteps; step += 4) {
    float2 first[kTileSlabs], second[kTileSlabs];
#pragma unroll
    for (int slab = 0; slab < kTileSlabs; ++slab) {
      const MomentsPair pair = slab_moments<typename Config::T>(staging + step * Config::kStepBytes + slab * kSlabRows * 64);
      first[slab] = make_float2(pair.x, pair.y);
      second[slab] = make_float2(pair.z, pair.w);
    }
    const float2 a = merge_slabs(first), b = merge_slabs(second);
    const int column = step * 32 + 2 * lane;
    if (lane < 16 && index.n * Config::kTileN + column < p.epilogue.n)
      *reinterpret_cast<MomentsPair*>(moments + column) = make_float4(a.x, a.y, b.x, b.y);
  }
}

/** Bytes of shared memory in which warps that turn fragments into lines leave the moments of their slabs. */
template <class Config> inline constexpr int kSlabBytes = Config::kMoments && !Config::kStaged ? kTileSlabs * Config::kTileN * 8 : 0;

/** The moments of a warp's slab of a step of columns, from the lines in its kilobyte `lines` to those of all slabs behind the kilobytes
 *  of all warps. */
template <class Config> __device__ __forceinline__ void matmul_slab_moments(uint32_t lines, int step) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const MomentsPair pair = slab_moments<typename Config::T>(lines);
  const uint32_t slabs = lines + (8 - warp) * 1024 + warp * Config::kTileN * 8;
  if (lane < 16)
    asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(slabs + (step * 32 + 2 * lane) * 8), "f"(pair.x), "f"(pair.y), "f"(pair.z),
                 "f"(pair.w)
                 : "memory");
}

/** The moments of a tile from those of its slabs, when all warps of both warpgroups have left theirs. */
template <class Config>
__device__ __forceinline__ void matmul_merge_slabs(const MatmulSm90Params& p, const MatmulTileIndex& index, uint32_t lines) {
  static_assert(Config::kTileM == kSlabRows * kTileSlabs && !Config::kPingpong, "the consumer warps have a slab each");
  const uint32_t slabs = lines + (8 - threadIdx.x / 32) * 1024;
  ptx::named_barrier(1, 256);
  for (int column = threadIdx.x; column < Config::kTileN; column += 256) {
    float2 all[kTileSlabs];
#pragma unroll
    for (int slab = 0; slab < kTileSlabs; ++slab)
      asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];"
                   : "=f"(all[slab].x), "=f"(all[slab].y)
                   : "r"(slabs + (slab * Config::kTileN + column) * 8));
    if (index.m < p.numMTiles && index.n * Config::kTileN + column < p.epilogue.n)
      matmul_moments_of<Config>(p, index)[column] = merge_slabs(all);
  }
  ptx::named_barrier(1, 256);
}

}  // namespace vd::device
