// group_norm_stats: mean and 1/sqrt(variance + eps) per group. Plan: device/norm_stats.cuh; from moments, one small launch.
// Symbols: group_norm_stats_partial_<dtype>[_scalar], group_norm_stats_finish, group_norm_stats_join.
#include "../../device/norm_stats.cuh"

namespace vd::device {
namespace {

/** The sum over all 128 threads, in a fixed order. */
__device__ __forceinline__ float block_sum(float value) {
  __shared__ float sums[128];
  __syncthreads();
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int step = 64; step > 0; step >>= 1) {
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
  return sums[0];
}

/** Block (row, group): channels of all its frames count the same. */
__device__ __forceinline__ void norm_join(const NormJoinParams& p) {
  const int row = blockIdx.x / p.groups, g = blockIdx.x % p.groups;
  const auto of = [&](int item) {
    const int64_t frame = static_cast<int64_t>(row) * p.framesPerRow + item / p.groupChannels;
    const int c = g * p.groupChannels + item % p.groupChannels;
    const bool second = c >= p.channels;
    const float* pair =
        second ? p.moments2 + (frame * p.channels2 + c - p.channels) * p.pitch2 : p.moments + (frame * p.channels + c) * p.pitch;
    return make_float2(pair[0], pair[1]);
  };
  const int count = p.framesPerRow * p.groupChannels;
  const float around = of(0).x;  // what is summed is small
  float sum = 0.0f;
  for (int i = threadIdx.x; i < count; i += 128) sum += of(i).x - around;
  const float mean = around + block_sum(sum) / count;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < count; i += 128) {
    const float2 v = of(i);
    squares += fmaf(v.x - mean, v.x - mean, v.y);
  }
  const float variance = block_sum(squares) / count;
  if (threadIdx.x > 0) return;
  p.stats[p.statsPitch * blockIdx.x] = mean;
  p.stats[p.statsPitch * blockIdx.x + 1] = 1.0f / sqrtf(variance + p.eps);
}

}  // namespace
}  // namespace vd::device

using namespace vd::device;

VD_NORM_STATISTICS(group_norm_stats)
VD_KERNEL(group_norm_stats_join, NormJoinParams, 128, 1, norm_join)
