// Mean and variance of each channel of each frame of a convolution's result. Kernels of the Hopper core leave those of their tiles; for
// others one launch reads the results. A second launch merges. No atomics: the order is fixed.
#pragma once
#include "channel_moments.h"
#include "kernel.cuh"
#include "vec.cuh"

namespace vd::device {

/** Block (chunk, frame): moments of every channel, about the chunk's first pixel. */
template <class T> __device__ __forceinline__ void measure_chunk(const ChannelMomentsParams& p) {
  const int64_t first = static_cast<int64_t>(blockIdx.y) * p.pixels + static_cast<int64_t>(blockIdx.x) * p.chunkPixels;
  const int count = min(p.chunkPixels, p.pixels - static_cast<int>(blockIdx.x) * p.chunkPixels);
  float2* partial = static_cast<float2*>(p.partial) + (static_cast<int64_t>(blockIdx.y) * p.numChunks + blockIdx.x) * p.channels;
  for (int c = threadIdx.x; c < p.channels; c += blockDim.x) {
    const T* at = static_cast<const T*>(p.y) + first * p.yPitch + c;
    const float shift = to_float(at[0]);
    float sum = 0.0f, square = 0.0f;
#pragma unroll 8
    for (int i = 0; i < count; ++i) {
      const float d = to_float(at[i * p.yPitch]) - shift;
      sum += d;
      square = fmaf(d, d, square);
    }
    const float mean = sum / count;
    partial[c] = make_float2(shift + mean, fmaxf(fmaf(-sum, mean, square), 0.0f));
  }
}

/** Sums over chunks about the mean of the first one, weighted by pixels: of means, their squares, and deviations. */
struct ChunkSums {
  float mean, square, deviations;
};
__device__ __forceinline__ ChunkSums operator+(const ChunkSums& a, const ChunkSums& b) {
  return {a.mean + b.mean, a.square + b.square, a.deviations + b.deviations};
}

/** Block (channels, frame): 32 threads a channel take chunks in turn, their sums meet in a fixed order. */
__device__ __forceinline__ void merge_chunks(const ChannelMomentsParams& p) {
  __shared__ ChunkSums sums[kMomentsMergeRows][kMomentsMergeChannels];
  const int lane = threadIdx.x % kMomentsMergeChannels, row = threadIdx.x / kMomentsMergeChannels;
  const int c = blockIdx.x * kMomentsMergeChannels + lane, frame = blockIdx.y;
  const float2* partial =
      static_cast<const float2*>(p.partial) + static_cast<int64_t>(frame) * p.numChunks * p.channels + min(c, p.channels - 1);
  const float around = partial[0].x;
  ChunkSums own{0.0f, 0.0f, 0.0f};
#pragma unroll 8
  for (int chunk = row; chunk < p.numChunks; chunk += kMomentsMergeRows) {
    const float2 v = partial[static_cast<int64_t>(chunk) * p.channels];
    const auto pixels = static_cast<float>(min(p.chunkPixels, p.pixels - chunk * p.chunkPixels));
    const float d = v.x - around;
    own = own + ChunkSums{pixels * d, pixels * d * d, v.y};
  }
  sums[row][lane] = own;
  __syncthreads();
  for (int step = kMomentsMergeRows / 2; step > 0; step >>= 1) {
    if (row < step) sums[row][lane] = sums[row][lane] + sums[row + step][lane];
    __syncthreads();
  }
  if (row > 0 || c >= p.channels) return;
  const ChunkSums all = sums[0][lane];
  const float pixels = static_cast<float>(p.pixels), mean = all.mean / pixels;
  float* moments = p.moments + (static_cast<int64_t>(frame) * p.channels + c) * p.momentsPitch;
  moments[0] = around + mean;
  moments[1] = fmaxf(fmaf(-all.mean, mean, all.square) + all.deviations, 0.0f) / pixels;
}

}  // namespace vd::device

/** Both launches of an op. */
#define VD_MOMENTS_KERNELS(op)                                                                     \
  VD_KERNEL(op##_moments_partial_f32, ChannelMomentsParams, 256, 2, measure_chunk<float>)          \
  VD_KERNEL(op##_moments_partial_f16, ChannelMomentsParams, 256, 2, measure_chunk<__half>)         \
  VD_KERNEL(op##_moments_partial_bf16, ChannelMomentsParams, 256, 2, measure_chunk<__nv_bfloat16>) \
  VD_KERNEL_OVERLAPPED(op##_moments_merge, ChannelMomentsParams, 512, 1, merge_chunks)
