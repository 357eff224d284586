// What the Hopper core's epilogue adds where somebody wants the moments of its results: (mean, deviations) of each column of each tile of
// 128 pixels, or of each half of a tile of 256, which a norm of channel groups behind it needs, and would else read all results for.
#pragma once
#include "matmul_sm90_tile.cuh"
#include "pixel_moments.cuh"
#include "ptx/mbarrier.cuh"

namespace vd::device {

/** Where the moments of the columns of 128 rows of a tile begin; tiles of a frame follow each other. half: which 128 rows. */
template <class Config>
__device__ __forceinline__ float2* matmul_moments_of(const MatmulSm90Params& p, const MatmulTileIndex& index, int half) {
  const int64_t tile = (static_cast<int64_t>(index.m) * p.numPhases + index.phase) * (Config::kTileM / kTileRows) + half;
  return static_cast<float2*>(p.moments) + tile * p.epilogue.n + index.n * Config::kTileN;
}

/** The moments of a tile whose results are all in staging. Each warp of the set takes steps of 32 columns of 128 rows. */
template <class Config>
__device__ __forceinline__ void matmul_staged_moments(const MatmulSm90Params& p, const MatmulTileIndex& index, uint32_t staging) {
  if (index.m >= p.numMTiles) return;
  constexpr int kHalves = Config::kTileM / kTileRows, kWarps = Config::kPingpong ? 4 : 8;
#pragma unroll 1
  for (int i = threadIdx.x / 32 % kWarps; i < kHalves * Config::kSteps; i += kWarps) {
    const int half = i / Config::kSteps, step = i % Config::kSteps;
    float2* moments = matmul_moments_of<Config>(p, index, half);
    ColumnSums<typename Config::T> sums[4];
    add_rows<typename Config::T, kTileRows>(staging + step * Config::kStepBytes + half * kTileRows * 64, sums);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = step * 32 + 8 * i + held_column();
      const float2 found = sums[i].moments(kTileRows);
      if (holds_column() && index.n * Config::kTileN + column < p.epilogue.n) moments[column] = found;
    }
  }
}

/** The same by additions, while other warps multiply: of kWarps warps this is the `warp`-th. */
template <class Config, int kWarps>
__device__ __forceinline__ void matmul_measure_staged(const MatmulSm90Params& p, const MatmulTileIndex& index, uint32_t staging, int warp) {
  if (index.m >= p.numMTiles) return;
#pragma unroll 1
  for (int i = warp; i < Config::kTileM / kTileRows * Config::kSteps; i += kWarps) {
    const int half = i / Config::kSteps, column = i % Config::kSteps * 32 + measured_column();
    const float2 found =
        measure_rows<typename Config::T, kTileRows>(staging + i % Config::kSteps * Config::kStepBytes + half * kTileRows * 64);
    if (index.n * Config::kTileN + column < p.epilogue.n) matmul_moments_of<Config>(p, index, half)[column] = found;
  }
}

/** threadIdx.x, found anew: what follows from it takes no registers while the products run. */
__device__ __forceinline__ int matmul_thread() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

/** Bytes of shared memory in which warps that turn fragments into lines leave the moments of their slabs. */
template <class Config>
inline constexpr int kSlabBytes = Config::kMoments && !Config::kStaged ? Config::kTileM / kSlabRows * Config::kTileN * 8 : 0;

/** The moments of a warp's slab of a step of columns, from the lines in its kilobyte `lines` to those of all slabs behind the kilobytes
 *  of all warps. m: of the warpgroup's blocks of 64 rows. */
template <class Config> __device__ __forceinline__ void matmul_slab_moments(uint32_t lines, int m, int step) {
  const int warp = matmul_thread() / 32, slab = warp / 4 * (Config::kRows / kSlabRows) + 4 * m + warp % 4;
  ColumnSums<typename Config::T> sums[4];
  add_rows<typename Config::T, kSlabRows>(lines, sums);
  const uint32_t slabs = lines + (8 - warp) * 1024 + slab * Config::kTileN * 8;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 found = sums[i].moments(kSlabRows);
    if (holds_column())
      asm volatile("st.shared.v2.f32 [%0], {%1,%2};" ::"r"(slabs + (step * 32 + 8 * i + held_column()) * 8), "f"(found.x), "f"(found.y)
                   : "memory");
  }
}

/** The moments of a tile from those of its slabs, when all warps of both warpgroups have left theirs. */
template <class Config>
__device__ __forceinline__ void matmul_merge_slabs(const MatmulSm90Params& p, const MatmulTileIndex& index, uint32_t lines) {
  static_assert(!Config::kPingpong && Config::kRowBlocks * 8 * kSlabRows == Config::kTileM, "the consumer warps have a slab of each block");
  const int thread = matmul_thread();
  const uint32_t slabs = lines + (8 - thread / 32) * 1024;
  ptx::named_barrier(1, 256);
  for (int i = thread; i < Config::kTileM / kTileRows * Config::kTileN; i += 256) {
    const int half = i / Config::kTileN, column = i % Config::kTileN;
    float2 all[kTileSlabs];
#pragma unroll
    for (int slab = 0; slab < kTileSlabs; ++slab)
      asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];"
                   : "=f"(all[slab].x), "=f"(all[slab].y)
                   : "r"(slabs + ((half * kTileSlabs + slab) * Config::kTileN + column) * 8));
    if (index.m < p.numMTiles && index.n * Config::kTileN + column < p.epilogue.n)
      matmul_moments_of<Config>(p, index, half)[column] = merge_slabs(all);
  }
  ptx::named_barrier(1, 256);
}

}  // namespace vd::device
