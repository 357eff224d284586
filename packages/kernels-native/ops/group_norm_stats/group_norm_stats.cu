// group_norm_stats: mean and 1/sqrt(variance + eps) per group. Plan: device/norm_stats.cuh; from moments, one small launch.
// Symbols: group_norm_stats_partial_<dtype>[_scalar], group_norm_stats_finish, group_norm_stats_join.
#include "../../device/norm_stats.cuh"

namespace vd::device {
namespace {

/** Calls body(mean, variance) for a thread's share of the channels of a row's group: warps take frames, lanes channels. */
template <class Body> __device__ __forceinline__ void visit_channels(const NormJoinParams& p, int row, int g, Body body) {
  for (int i = threadIdx.x / 32; i < p.framesPerRow; i += 4) {
    const int64_t frame = static_cast<int64_t>(row) * p.framesPerRow + i;
    const int first = g * p.groupChannels, end = first + p.groupChannels;
#pragma unroll 2
    for (int c = first + threadIdx.x % 32; c < end; c += 32) {
      const bool second = c >= p.channels;
      const float* pair =
          second ? p.moments2 + (frame * p.channels2 + c - p.channels) * p.pitch2 : p.moments + (frame * p.channels + c) * p.pitch;
      body(pair[0], pair[1]);
    }
  }
}

/** Block (row, group): channels of all its frames count the same. */
__device__ __forceinline__ void norm_join(const NormJoinParams& p) {
  const int row = blockIdx.x / p.groups, g = blockIdx.x % p.groups, c = g * p.groupChannels;
  const int64_t frame = static_cast<int64_t>(row) * p.framesPerRow;
  // About the first channel's mean: what is summed is small.
  const float around =
      c >= p.channels ? p.moments2[(frame * p.channels2 + c - p.channels) * p.pitch2] : p.moments[(frame * p.channels + c) * p.pitch];
  const auto count = static_cast<float>(p.framesPerRow * p.groupChannels);
  float sum = 0.0f, squares = 0.0f;
  visit_channels(p, row, g, [&](float mean, float) { sum += mean - around; });
  const float mean = around + sum_block<128>(sum) / count;
  visit_channels(p, row, g, [&](float own, float variance) { squares += fmaf(own - mean, own - mean, variance); });
  const float variance = sum_block<128>(squares) / count;
  if (threadIdx.x > 0) return;
  p.stats[p.statsPitch * blockIdx.x] = mean;
  p.stats[p.statsPitch * blockIdx.x + 1] = 1.0f / sqrtf(variance + p.eps);
}

}  // namespace
}  // namespace vd::device

using namespace vd::device;

VD_NORM_STATISTICS(group_norm_stats)
VD_KERNEL_OVERLAPPED(group_norm_stats_join, NormJoinParams, 128, 1, norm_join)
