// Mean and sum of squared deviations of channels over the pixels of a tile, from the rounded results that the Hopper core's epilogue
// leaves in shared memory: rows of 64 bytes, 16-byte chunk c of row r at c ^ (r / 2 & 3).
//
// 16 rows are a slab, eight slabs a tile of 128 rows. Every kernel adds up in this order, so that all tiles of 128 rows give the same bits.
#pragma once
#include "kernel.cuh"
#include "vec.cuh"

namespace vd::device {

inline constexpr int kSlabRows = 16, kTileSlabs = 8;

/** (mean, deviations) of two neighbouring columns. */
using MomentsPair = float4;

/** Of 16 rows of 32 columns at `rows`, the two columns 2 · (lane % 16). Half a warp reads even rows, half odd ones; both get the result. */
template <class T> __device__ __forceinline__ MomentsPair slab_moments(uint32_t rows) {
  const int lane = threadIdx.x & 31, pair = lane & 15, odd = lane >> 4;
  float2 v[kSlabRows / 2];
#pragma unroll
  for (int i = 0; i < kSlabRows / 2; ++i) {
    uint32_t raw;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(raw) : "r"(rows + (2 * i + odd) * 64 + (((pair >> 2) ^ (i & 3)) << 4) + (pair & 3) * 4));
    v[i] = unpack2<T>(raw);
  }
  const auto over_rows = [](float sum) { return sum + __shfl_xor_sync(0xffffffffu, sum, 16); };
  float2 sum = v[0];
#pragma unroll
  for (int i = 1; i < kSlabRows / 2; ++i) {
    sum.x += v[i].x;
    sum.y += v[i].y;
  }
  const float meanX = over_rows(sum.x) / kSlabRows, meanY = over_rows(sum.y) / kSlabRows;
  float deviationsX = 0.0f, deviationsY = 0.0f;
#pragma unroll
  for (int i = 0; i < kSlabRows / 2; ++i) {
    const float x = v[i].x - meanX, y = v[i].y - meanY;
    deviationsX = fmaf(x, x, deviationsX);
    deviationsY = fmaf(y, y, deviationsY);
  }
  return make_float4(meanX, over_rows(deviationsX), meanY, over_rows(deviationsY));
}

/** (mean, deviations) of a tile's column from those of its slabs. */
__device__ __forceinline__ float2 merge_slabs(const float2 (&slabs)[kTileSlabs]) {
  const float around = slabs[0].x;
  float sum = 0.0f, deviations = 0.0f, spread = 0.0f;
#pragma unroll
  for (int i = 0; i < kTileSlabs; ++i) {
    sum += slabs[i].x - around;
    deviations += slabs[i].y;
  }
  const float mean = around + sum / kTileSlabs;
#pragma unroll
  for (int i = 0; i < kTileSlabs; ++i) {
    const float d = slabs[i].x - mean;
    spread = fmaf(d, d, spread);
  }
  return make_float2(mean, fmaf(spread, static_cast<float>(kSlabRows), deviations));
}

}  // namespace vd::device
