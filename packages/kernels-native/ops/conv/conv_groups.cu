// Grouped and depthwise convolutions in plain float32: groups of few channels leave tensor cores nothing to do, and depthwise ones
// are bound by memory. A thread computes four neighbouring pixels of a row, so that it loads a weight once for them.
// Symbols: conv_depthwise_<dtype>, eight channels a thread; conv_groups_<dtype>, any groups, one output channel a thread.
#include "../../device/elementwise.cuh"
#include "../../device/matmul_mma.cuh"
#include "conv_groups_params.h"

namespace vd::device {

/** The pixels of a thread: where each reads, and its number in y; those beyond the row's end are left out. */
struct GroupStrip {
  SourcePixel source;  // of the first
  int64_t pixel;
  int count;
};
__device__ __forceinline__ GroupStrip group_strip(const MatmulMmaParams& p, int64_t strip) {
  const int perRow = (p.out[2] + kGroupPixels - 1) / kGroupPixels;
  const int64_t line = strip / perRow;
  const int w = static_cast<int>(strip % perRow) * kGroupPixels;
  GroupStrip s;
  s.pixel = line * p.out[2] + w;
  s.source = source_pixel(p, static_cast<int>(s.pixel));
  s.count = min(kGroupPixels, p.out[2] - w);
  return s;
}

/** The source of a tap for each pixel of a strip, null in the padding. */
template <class T>
__device__ __forceinline__ void group_sources(const MatmulMmaParams& p, const GroupStrip& strip, int tap,
                                              const T* (&sources)[kGroupPixels]) {
  SourcePixel source = strip.source;
#pragma unroll
  for (int i = 0; i < kGroupPixels; ++i, source.w += p.stride[2]) sources[i] = i < strip.count ? clip_source<T>(p, source, tap) : nullptr;
}

/** One output channel of a strip: the products of its group's channels. */
template <class T> __device__ __forceinline__ void conv_groups(const ConvGroupsParams& g) {
  const MatmulMmaParams& p = g.conv;
  const int taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  for_each_item(g.items, [&](int64_t item) {
    const int k = static_cast<int>(item % p.columns), first = k / g.groupColumns * g.groupChannels;
    const GroupStrip strip = group_strip(p, item / p.columns);
    float sums[kGroupPixels] = {};
    const float* weights = static_cast<const float*>(p.weights) + k;
    for (int tap = 0; tap < taps; ++tap) {
      const T* sources[kGroupPixels];
      group_sources(p, strip, tap, sources);
      for (int c = 0; c < g.groupChannels; ++c, weights += p.columns) {
        const float weight = __ldg(weights);
#pragma unroll
        for (int i = 0; i < kGroupPixels; ++i)
          if (sources[i] != nullptr) sums[i] = fmaf(to_float(sources[i][first + c]), weight, sums[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kGroupPixels; ++i)
      if (i < strip.count) finish1(p.epilogue, sums[i], strip.pixel + i, k, false);
  });
}

/** Adds a row of kWidth taps with a step of 1, whose windows overlap: every source pixel is loaded once. */
template <class T, int kWidth>
__device__ __forceinline__ void depthwise_row(const MatmulMmaParams& p, const GroupStrip& strip, int row, int channel,
                                              float (&sums)[kGroupPixels][8]) {
  float weights[kWidth][8];
  const float* filter = static_cast<const float*>(p.weights) + static_cast<int64_t>(row) * kWidth * p.columns + channel;
#pragma unroll
  for (int s = 0; s < kWidth; ++s) load8_readonly(filter + static_cast<int64_t>(s) * p.columns, weights[s]);
  SourcePixel source = strip.source;
#pragma unroll
  for (int j = 0; j < kGroupPixels + kWidth - 1; ++j, ++source.w) {
    const T* pixel = clip_source<T>(p, source, row * kWidth);
    if (pixel == nullptr) continue;
    float x[8];
    load8_readonly(pixel + channel, x);
#pragma unroll
    for (int s = 0; s < kWidth; ++s) {
      if (j - s < 0 || j - s >= kGroupPixels) continue;
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[j - s][e] = fmaf(x[e], weights[s][e], sums[j - s][e]);
    }
  }
}

/** Adds one tap, whatever the step. */
template <class T>
__device__ __forceinline__ void depthwise_tap(const MatmulMmaParams& p, const GroupStrip& strip, int tap, int channel,
                                              float (&sums)[kGroupPixels][8]) {
  float weights[8];
  load8_readonly(static_cast<const float*>(p.weights) + static_cast<int64_t>(tap) * p.columns + channel, weights);
  const T* sources[kGroupPixels];
  group_sources(p, strip, tap, sources);
#pragma unroll
  for (int i = 0; i < kGroupPixels; ++i) {
    if (sources[i] == nullptr) continue;
    float x[8];
    load8_readonly(sources[i] + channel, x);
#pragma unroll
    for (int e = 0; e < 8; ++e) sums[i][e] = fmaf(x[e], weights[e], sums[i][e]);
  }
}

/** Eight channels of a strip, each with its own filter. */
template <class T> __device__ __forceinline__ void conv_depthwise(const ConvGroupsParams& g) {
  const MatmulMmaParams& p = g.conv;
  const int eights = p.columns / 8, rows = p.kernel[0] * p.kernel[1];
  const bool slides = p.kernel[2] == 3 && p.stride[2] == 1 && !p.upsample;
  for_each_item(g.items, [&](int64_t item) {
    const int channel = static_cast<int>(item % eights) * 8;
    const GroupStrip strip = group_strip(p, item / eights);
    float sums[kGroupPixels][8] = {};
    if (slides) {
      for (int row = 0; row < rows; ++row) depthwise_row<T, 3>(p, strip, row, channel, sums);
    } else {
      for (int tap = 0; tap < rows * p.kernel[2]; ++tap) depthwise_tap<T>(p, strip, tap, channel, sums);
    }
#pragma unroll
    for (int i = 0; i < kGroupPixels; ++i)
      if (i < strip.count) epilogue8(p.epilogue, sums[i], strip.pixel + i, channel, false);
  });
}

}  // namespace vd::device

using namespace vd::device;

#define VD_CONV_GROUPS(type, name)                                           \
  VD_KERNEL(conv_groups_##name, ConvGroupsParams, 256, 2, conv_groups<type>) \
  VD_KERNEL(conv_depthwise_##name, ConvGroupsParams, 256, 2, conv_depthwise<type>)

VD_CONV_GROUPS(float, f32)
VD_CONV_GROUPS(__half, f16)
VD_CONV_GROUPS(__nv_bfloat16, bf16)
