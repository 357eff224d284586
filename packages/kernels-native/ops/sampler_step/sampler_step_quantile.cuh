// The quantile of dynamic thresholding in the launch that uses it. A number's magnitude is 31 bits that sort as it does, so that
// three passes of counting, over 11, 10 and 10 bits from the top, select the one of a rank exactly; a fourth finds the next one.
// Counts are of integers: any order gives the same. Between passes all blocks wait for each other.
#pragma once
#include <cooperative_groups.h>

#include "../../device/elementwise.cuh"
#include "sampler_step_params.h"

namespace vd::device {

/** Where a rank lies among bins: its bin, its rank within and the bin's count. */
struct SelectedBin {
  uint32_t bin, rank, count;
};

/** The bin of a rank; called by all threads of a block. bins: [kSelectBins] in global memory, two a thread. */
__device__ __forceinline__ SelectedBin find_bin(const uint32_t* bins, uint32_t rank) {
  static_assert(kSelectBins == 2 * kThresholdThreads);
  __shared__ uint32_t warpCounts[kThresholdThreads / 32];
  __shared__ SelectedBin found;
  // Not from the first-level cache, which does not see other blocks' counts.
  const uint2 own = __ldcg(reinterpret_cast<const uint2*>(bins) + threadIdx.x);
  const uint32_t count = own.x + own.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t upTo = count;
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t other = __shfl_up_sync(0xffffffffu, upTo, step);
    if (lane >= step) upTo += other;
  }
  if (lane == 31) warpCounts[warp] = upTo;
  __syncthreads();
  uint32_t before = upTo - count;
  for (uint32_t w = 0; w < warp; ++w) before += warpCounts[w];
  if (rank >= before && rank < before + count) {
    const bool isFirst = rank - before < own.x;
    found = {2 * threadIdx.x + (isFirst ? 0u : 1u), rank - before - (isFirst ? 0u : own.x), isFirst ? own.x : own.y};
  }
  __syncthreads();
  return found;
}

/** Calls `body` with the bits of every magnitude that is this thread's. */
template <class Body> __device__ __forceinline__ void for_each_magnitude(const SamplerStepThresholdParams& p, Body&& body) {
  for_each_item(p.step.pixels * p.step.channels, [&](int64_t i) { body(__float_as_uint(fabsf(__ldcg(p.data + i)))); });
}

/** The divisor of dynamic thresholding, the same in all threads of the grid. for_each_data(visit): calls `visit(index, value)` for
 *  each data prediction that is this thread's; their magnitudes are selected from. */
template <class ForEachData>
__device__ __forceinline__ float select_scale(const SamplerStepThresholdParams& p, ForEachData&& for_each_data) {
  __shared__ uint32_t counts[kSelectBins];
  const auto grid = cooperative_groups::this_grid();
  const auto add_counts = [&](uint32_t* bins) {
    __syncthreads();
    for (int i = threadIdx.x; i < kSelectBins; i += kThresholdThreads)
      if (counts[i] != 0) atomicAdd(bins + i, counts[i]);
    grid.sync();
  };
  const auto clear_counts = [&] {
    for (int i = threadIdx.x; i < kSelectBins; i += kThresholdThreads) counts[i] = 0;
    __syncthreads();
  };
  for_each_item(kNumSelectPasses * kSelectBins, [&](int64_t i) { p.work->bins[i / kSelectBins][i % kSelectBins] = 0; });
  if (blockIdx.x == 0 && threadIdx.x == 0) p.work->above = 0xffffffffu;
  clear_counts();
  for_each_data([&](int64_t index, float value) {
    __stcg(p.data + index, value);
    atomicAdd(counts + (__float_as_uint(fabsf(value)) >> 20), 1u);
  });
  grid.sync();  // The shared counts are cleared everywhere, and all data lie there.
  add_counts(p.work->bins[0]);
  SelectedBin selected = find_bin(p.work->bins[0], p.rank);
  uint32_t bits = selected.bin;
  for (int pass = 1; pass < kNumSelectPasses; ++pass) {
    const int shift = 10 * (kNumSelectPasses - 1 - pass);
    clear_counts();
    for_each_magnitude(p, [&](uint32_t magnitude) {
      if (magnitude >> (shift + 10) == bits) atomicAdd(counts + (magnitude >> shift & 1023u), 1u);
    });
    add_counts(p.work->bins[pass]);
    selected = find_bin(p.work->bins[pass], selected.rank);
    bits = bits << 10 | selected.bin;
  }
  uint32_t above = bits;
  if (p.weight > 0.0f && selected.rank + 1 == selected.count) {
    uint32_t least = 0xffffffffu;
    for_each_magnitude(p, [&](uint32_t magnitude) {
      if (magnitude > bits && magnitude < least) least = magnitude;
    });
#pragma unroll
    for (int step = 16; step > 0; step /= 2) least = min(least, __shfl_xor_sync(0xffffffffu, least, step));
    if (threadIdx.x % 32 == 0 && least != 0xffffffffu) atomicMin(&p.work->above, least);
    grid.sync();
    above = __ldcg(&p.work->above);
  }
  return threshold_scale(__uint_as_float(bits), __uint_as_float(above), p.weight, p.maxValue);
}

}  // namespace vd::device
