// Products of float32 on the Hopper matrix core, with float32's error, where weights are numbers of 16 bits and so of tf32.
//
// As in matmul_tf32.cuh, x = hi + lo, and hi and lo times the weights are two products of tensor cores. Here x passes through the registers
// in which it is split, 32 channels of 64 rows at a time, and weights are read from shared memory as they are. Tensor cores truncate their
// sums, so those of every 32 channels start from zero and are added up in float32; meanwhile the other warpgroup multiplies.
#pragma once
#include "matmul_sm90_tile.cuh"
#include "ptx/matrix_descriptor.cuh"
#include "ptx/mma.cuh"
#include "ptx/wgmma.cuh"
#include "ring_sm90.cuh"
#include "tf32_parts.cuh"

namespace vd::device {

/** Steps of eight channels, 32 bytes, that a block of the reduction has. */
inline constexpr int kFloatSteps = 4;

/** A warp's 16 rows of a block of 32 channels, in parts: of a row two channels, 4 apart, for each step. */
struct FloatRows {
  uint32_t hi[kFloatSteps][4], lo[kFloatSteps][4];

  /** rows: address of the warpgroup's first row in shared memory. */
  __device__ __forceinline__ void load(uint32_t rows) {
    const int lane = threadIdx.x & 31, row = threadIdx.x % 128 / 32 * 16 + (lane & 15);
#pragma unroll
    for (int step = 0; step < kFloatSteps; ++step) {
      uint32_t x[4];
      ptx::ldmatrix_x4(x, rows + row * 128 + (((2 * step + (lane >> 4)) ^ (row & 7)) << 4));
      split_tf32(x, hi[step], lo[step]);
    }
  }
};

/** acc = this warpgroup's rows of A · Bᵀ over the whole reduction; stages are those from `count` on. */
template <class Config, class Shared>
__device__ __forceinline__ void matmul_accumulate_floats(float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                         const Shared& shared, int rowOffset, uint32_t count, int numKBlocks) {
  static_assert(Config::kRowBlocks == 1 && Config::kColBlocks == 1, "registers hold the sums of one block beside those of all");
  using Product = ptx::WgmmaRegisters<float, Config::kWidth, 0>;
  constexpr int kSums = Config::kWidth / 2;
#pragma unroll
  for (int i = 0; i < kSums; ++i) acc[0][0][i] = 0.0f;
  RingCursor<Config::kStages> at{static_cast<int>(count % Config::kStages), count / Config::kStages & 1};
#pragma unroll 1
  for (int k = 0; k < numKBlocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    FloatRows rows;
    rows.load(shared.a(at.stage) + rowOffset * 128);
    const uint64_t b = ptx::matrix_descriptor(shared.b(at.stage));
    float sums[kSums];
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kFloatSteps; ++step) {
      Product::run(sums, rows.lo[step], b + step * 2, step > 0);
      Product::run(sums, rows.hi[step], b + step * 2, 1);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    release_stage<Config::kCluster>(shared.empty_at(at.stage));
#pragma unroll
    for (int i = 0; i < kSums; ++i) acc[0][0][i] += sums[i];
    at.advance();
  }
}

}  // namespace vd::device
