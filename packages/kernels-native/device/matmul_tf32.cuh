// float32 products on tensor cores with float32's error, sm_80 and later: the core of matmul_mma.cuh with split operands.
//
// a = hi + lo, hi with the 11 significant bits of tf32 (half away from zero), lo = a - hi exact in float32; the tensor core
// reads 11 bits of lo, which leaves out at most 2^-23 |a|. a·b = lo·hi + hi·lo + hi·hi, the small products first; lo·lo is
// below 2^-22 |a·b|. Weights of 16-bit checkpoints are tf32 numbers, subnormals included, so that their lo is zero and
// two products do ("exact"). Sources: https://github.com/NVIDIA/cutlass/discussions/385 (the three products);
// https://arxiv.org/abs/2203.03341 (Ootomo, Yokota: tensor cores truncate their sums, so long sums belong outside).
//
// A tensor core truncates its sum where an FMA rounds: in one accumulator over all of the depth the error grows with the
// depth. So every eight products start from zero and are added to the sum in float32. Emulated on random data (relative
// L2 error; f32: a chain of FMAs, tf32: hi·hi alone; 3x in one accumulator; 3x and 2x as here):
//   depth 72    f32 1.6e-7  tf32 3.0e-4  one 6.5e-7  3x 1.1e-7  2x 9.0e-8
//   depth 1152  f32 6.0e-7  tf32 2.9e-4  one 1.1e-5  3x 2.3e-7  2x 2.3e-7
//   depth 4608  f32 1.2e-6  tf32 3.0e-4  one 4.3e-5  3x 4.3e-7  2x 4.4e-7
//   depth 9216  f32 1.7e-6  tf32 2.9e-4  one 8.6e-5  3x 6.1e-7  2x 6.1e-7
// An infinite operand gives NaN (inf - inf), as does a finite one above 2^128 - 2^116, whose hi is infinite.
#pragma once
#include "matmul_mma.cuh"
#include "ptx/tf32.cuh"
#include "tf32_parts.cuh"

namespace vd::device {

/** One variant: rows, columns, 16-byte loads, whether every weight is a tf32 number, and as in MmaConfig. */
template <int kTileM, int kTileN, bool kVector, bool kExact_, bool kSwiglu = false, bool kClip = false>
struct Tf32Config : MmaConfig<float, kTileM, kTileN, kVector, kSwiglu, kClip> {
  static constexpr bool kExact = kExact_;
};

#if __CUDA_ARCH__ >= 800

/** A block of 8 by 8 kCols elements of B as operands; lo is unused where B is exact. */
template <int kCols> struct Tf32Columns {
  uint32_t hi[kCols][2], lo[kCols][2];

  template <bool kExact> __device__ __forceinline__ void set(int n, uint32_t k0, uint32_t k4) {
    if constexpr (kExact) {
      hi[n][0] = k0;
      hi[n][1] = k4;
    } else {
      split_tf32(k0, hi[n][0], lo[n][0]);
      split_tf32(k4, hi[n][1], lo[n][1]);
    }
  }
};

/** acc[16, 8 kCols] += a[16,8] · b[8, 8 kCols] in float32. */
template <bool kExact, int kCols>
__device__ __forceinline__ void tf32_products(float (*acc)[4], const uint32_t (&a)[4], const Tf32Columns<kCols>& b) {
  constexpr float kZero[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  uint32_t hi[4], lo[4];
  split_tf32(a, hi, lo);
#pragma unroll
  for (int n = 0; n < kCols; ++n) {
    float sum[4];
    ptx::mma_1688_tf32(sum, lo, b.hi[n], kZero);
    if constexpr (!kExact) ptx::mma_1688_tf32(sum, hi, b.lo[n], sum);
    ptx::mma_1688_tf32(sum, hi, b.hi[n], sum);
#pragma unroll
    for (int i = 0; i < 4; ++i) acc[n][i] += sum[i];
  }
}

/** acc += A · Bᵀ of one stage of 16 elements of depth: 16 kRowBlocks rows from rowA, 8 kCols columns from rowB. */
template <bool kExact, int kRowBlocks, int kCols>
__device__ __forceinline__ void tf32_stage(float (&acc)[kRowBlocks][kCols][4], uint32_t a, uint32_t b, int rowA, int rowB) {
  static_assert(kCols % 2 == 0, "columns are loaded sixteen at a time");
  const int lane = threadIdx.x & 31;
#pragma unroll(kRowBlocks > 4 ? 1 : 2)  // 80 rows and their outputs leave no registers to look ahead
  for (int step = 0; step < 2; ++step) {
    Tf32Columns<kCols> columns;
#pragma unroll
    for (int pair = 0; pair < kCols / 2; ++pair) {
      const int row = rowB + pair * 16 + (lane & 7) + (lane >> 4) * 8, chunk = step * 2 + (lane >> 3 & 1);
      uint32_t r[4];
      ptx::ldmatrix_x4(r, chunk_at(b, row, chunk));
      columns.template set<kExact>(2 * pair, r[0], r[1]);
      columns.template set<kExact>(2 * pair + 1, r[2], r[3]);
    }
#pragma unroll
    for (int m = 0; m < kRowBlocks; ++m) {
      const int row = rowA + m * 16 + (lane & 15), chunk = step * 2 + (lane >> 4);
      uint32_t fragA[4];
      ptx::ldmatrix_x4(fragA, chunk_at(a, row, chunk));
      tf32_products<kExact>(acc[m], fragA, columns);
    }
  }
}

/** A tile of conv or linear in float32; weights are float32, with tf32's bits if the configuration says so. */
template <class Config> __device__ __forceinline__ void matmul_tf32(const MatmulMmaParams& p) {
  matmul_tile<Config>(p, [](auto& acc, uint32_t a, uint32_t b, int warpM, int warpN) {
    tf32_stage<Config::kExact>(acc, a, b, warpM * Config::kRowBlocks * 16, warpN * 32);
  });
}

#endif

}  // namespace vd::device
