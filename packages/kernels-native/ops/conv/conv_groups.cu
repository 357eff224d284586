// Grouped and depthwise convolutions in plain float32: groups of few channels leave tensor cores nothing to do. A thread computes
// four neighbouring pixels of a row, so that it loads a weight once for them.
// Symbols: conv_depthwise_<dtype>, eight channels a thread; conv_groups4_<dtype>, groups of multiples of four, eight output channels a
// thread; conv_groups_<dtype>, any groups, one output channel a thread.
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

/** Calls body(tap, sources) for each tap, with its source of each pixel, null in the padding. */
template <class T, class Body>
__device__ __forceinline__ void for_each_tap(const MatmulMmaParams& p, const GroupStrip& strip, Body&& body) {
  int tap = 0;
  for (int f = 0; f < p.kernel[0]; ++f)
    for (int h = 0; h < p.kernel[1]; ++h) {
      const ClipLine<T> line = clip_line<T>(p, strip.source.base, strip.source.f + f, strip.source.h + h);
      for (int w = 0; w < p.kernel[2]; ++w, ++tap) {
        const T* sources[kGroupPixels];
#pragma unroll
        for (int i = 0; i < kGroupPixels; ++i)
          sources[i] = i < strip.count ? clip_pixel(p, line, strip.source.w + w + i * p.stride[2]) : nullptr;
        body(tap, sources);
      }
    }
}

/** One output channel of a strip: the products of its group's channels. */
template <class T> __device__ __forceinline__ void conv_groups(const ConvGroupsParams& g) {
  const MatmulMmaParams& p = g.conv;
  for_each_item(g.items, [&](int64_t item) {
    const int k = static_cast<int>(item % p.columns), first = k / g.groupColumns * g.groupChannels;
    const GroupStrip strip = group_strip(p, item / p.columns);
    float sums[kGroupPixels] = {};
    const float* weights = static_cast<const float*>(p.weights) + k;
    for_each_tap<T>(p, strip, [&](int, const T* const(&sources)[kGroupPixels]) {
      for (int c = 0; c < g.groupChannels; ++c, weights += p.columns) {
        const float weight = __ldg(weights);
#pragma unroll
        for (int i = 0; i < kGroupPixels; ++i)
          if (sources[i] != nullptr) sums[i] = fmaf(to_float(sources[i][first + c]), weight, sums[i]);
      }
    });
#pragma unroll
    for (int i = 0; i < kGroupPixels; ++i)
      if (i < strip.count) finish1(p.epilogue, sums[i], strip.pixel + i, k, false);
  });
}

/** Four elements from an address aligned to all of them. */
template <class T> __device__ __forceinline__ void load4_readonly(const T* p, float (&v)[4]) {
  const uint2 raw = __ldg(reinterpret_cast<const uint2*>(p));
  const float2 low = unpack2<T>(raw.x), high = unpack2<T>(raw.y);
  v[0] = low.x;
  v[1] = low.y;
  v[2] = high.x;
  v[3] = high.y;
}
template <> __device__ __forceinline__ void load4_readonly<float>(const float* p, float (&v)[4]) {
  const float4 raw = __ldg(reinterpret_cast<const float4*>(p));
  v[0] = raw.x;
  v[1] = raw.y;
  v[2] = raw.z;
  v[3] = raw.w;
}

/** Where eight output channels find their four channels: those of two groups side by side, the same ones, or anywhere. */
enum class Fours { beside, same, apart };

/** Adds the products of four channels of each half of eight output channels, which may be of two groups. weights: of the first channel. */
template <class T, Fours kFours>
__device__ __forceinline__ void add_fours(const T* const (&sources)[kGroupPixels], const int (&channels)[2], const float* weights,
                                          int64_t columns, float (&sums)[kGroupPixels][8]) {
  float x[2][kGroupPixels][4];
#pragma unroll
  for (int i = 0; i < kGroupPixels; ++i) {
    if (sources[i] == nullptr) continue;
    if constexpr (kFours == Fours::beside) {
      float eight[8];
      load8_readonly(sources[i] + channels[0], eight);
#pragma unroll
      for (int e = 0; e < 8; ++e) x[e / 4][i][e % 4] = eight[e];
    } else {
      load4_readonly(sources[i] + channels[0], x[0][i]);
      load4_readonly(sources[i] + channels[kFours == Fours::same ? 0 : 1], x[1][i]);
    }
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    float w[8];
    load8_readonly(weights + c * columns, w);
#pragma unroll
    for (int i = 0; i < kGroupPixels; ++i) {
      if (sources[i] == nullptr) continue;
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[i][e] = fmaf(x[e / 4][i][c], w[e], sums[i][e]);
    }
  }
}

/** The products of eight output channels of a strip; first: channels of their halves. */
template <class T, Fours kFours>
__device__ __forceinline__ void sum_fours(const ConvGroupsParams& g, const GroupStrip& strip, int k, const int (&first)[2],
                                          float (&sums)[kGroupPixels][8]) {
  const MatmulMmaParams& p = g.conv;
  const float* weights = static_cast<const float*>(p.weights) + k;
  for_each_tap<T>(p, strip, [&](int, const T* const(&sources)[kGroupPixels]) {
    for (int c = 0; c < g.groupChannels; c += 4, weights += 4 * static_cast<int64_t>(p.columns)) {
      const int channels[2] = {first[0] + c, first[1] + c};
      add_fours<T, kFours>(sources, channels, weights, p.columns, sums);
    }
  });
}

/** Eight output channels of a strip. Groups have multiples of four channels and of four output channels. */
template <class T> __device__ __forceinline__ void conv_groups4(const ConvGroupsParams& g) {
  const MatmulMmaParams& p = g.conv;
  const int eights = p.columns / 8;
  const bool beside = g.groupChannels == 4 && g.groupColumns == 4, same = g.groupColumns % 8 == 0;
  for_each_item(g.items, [&](int64_t item) {
    const int k = static_cast<int>(item % eights) * 8;
    const int first[2] = {k / g.groupColumns * g.groupChannels, (k + 4) / g.groupColumns * g.groupChannels};
    const GroupStrip strip = group_strip(p, item / eights);
    float sums[kGroupPixels][8] = {};
    if (beside) sum_fours<T, Fours::beside>(g, strip, k, first, sums);
    else if (same) sum_fours<T, Fours::same>(g, strip, k, first, sums);
    else sum_fours<T, Fours::apart>(g, strip, k, first, sums);
#pragma unroll
    for (int i = 0; i < kGroupPixels; ++i)
      if (i < strip.count) epilogue8(p.epilogue, sums[i], strip.pixel + i, k, false);
  });
}

/** Eight channels of a strip, each with its own filter. */
template <class T> __device__ __forceinline__ void conv_depthwise(const ConvGroupsParams& g) {
  const MatmulMmaParams& p = g.conv;
  const int eights = p.columns / 8;
  for_each_item(g.items, [&](int64_t item) {
    const int channel = static_cast<int>(item % eights) * 8;
    const GroupStrip strip = group_strip(p, item / eights);
    float sums[kGroupPixels][8] = {};
    for_each_tap<T>(p, strip, [&](int tap, const T* const(&sources)[kGroupPixels]) {
      float weights[8];
      load8_readonly(static_cast<const float*>(p.weights) + static_cast<int64_t>(tap) * p.columns + channel, weights);
#pragma unroll
      for (int i = 0; i < kGroupPixels; ++i) {
        if (sources[i] == nullptr) continue;
        float x[8];
        load8_readonly(sources[i] + channel, x);
#pragma unroll
        for (int e = 0; e < 8; ++e) sums[i][e] = fmaf(x[e], weights[e], sums[i][e]);
      }
    });
#pragma unroll
    for (int i = 0; i < kGroupPixels; ++i)
      if (i < strip.count) epilogue8(p.epilogue, sums[i], strip.pixel + i, channel, false);
  });
}

}  // namespace vd::device

using namespace vd::device;

#define VD_CONV_GROUPS(type, name)                                             \
  VD_KERNEL(conv_groups_##name, ConvGroupsParams, 256, 2, conv_groups<type>)   \
  VD_KERNEL(conv_groups4_##name, ConvGroupsParams, 128, 3, conv_groups4<type>) \
  VD_KERNEL(conv_depthwise_##name, ConvGroupsParams, 256, 2, conv_depthwise<type>)

VD_CONV_GROUPS(float, f32)
VD_CONV_GROUPS(__half, f16)
VD_CONV_GROUPS(__nv_bfloat16, bf16)
