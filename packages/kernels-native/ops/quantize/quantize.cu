// quantize: numbers to float8 e4m3 or 8-bit integers. Every operation is rounded as the CPU does it: a code depends on nothing else.
//
//   quantize_known_*   scales are given, or one scale follows from the maxima of all parts (quantize_maxima_*)
//   quantize_rows_*    a warp finds the largest magnitude of a token, then rounds it from the first-level cache
//   quantize_blocks_*  16 lanes do the same for each block of 128 channels (32 lanes where elements are moved one by one)
// vector: eight elements a thread; scalar: one.
#include "../../device/elementwise.cuh"
#include "../../device/quantized.cuh"
#include "quantize_params.h"

using namespace vd::device;

namespace {

/** Rounds kWidth channels of a token from `c` on. */
template <int kWidth> __device__ __forceinline__ void round_run(const QuantizeParams& p, int64_t pixel, int c, float inverse) {
  float v[kWidth];
  load_run<kWidth>(p.x, p.xType, pixel * p.xPitch + c, v);
  store_codes<kWidth>(p.y + pixel * p.yPitch + c, v, inverse, p.isInt8);
}

template <int kWidth> __device__ __forceinline__ void quantize_maxima(const QuantizeParams& p) {
  const int runs = p.channels / kWidth;
  float found = 0.0f;
  for_each_item(p.pixels * runs, [&](int64_t i) {
    const int64_t pixel = i / runs;
    float v[kWidth];
    load_run<kWidth>(p.x, p.xType, pixel * p.xPitch + (i - pixel * runs) * kWidth, v);
    found = largest_of<kWidth>(v, found);
  });
  found = max_block<256>(found);
  if (threadIdx.x == 0) p.maxima[blockIdx.x] = found;
}

/** The scale that follows from the maxima of all parts. */
__device__ __forceinline__ float common_scale(const QuantizeParams& p) {
  float found = 0.0f;
  for (int i = threadIdx.x; i < p.numMaxima; i += blockDim.x) found = fmaxf(found, p.maxima[i]);
  return code_scale(max_block<256>(found), p.isInt8);
}

template <int kWidth> __device__ __forceinline__ void quantize_known(const QuantizeParams& p) {
  const float common = p.maxima != nullptr ? common_scale(p) : 0.0f;
  const int runs = p.channels / kWidth;
  for_each_item(p.pixels * runs, [&](int64_t i) {
    const int64_t pixel = i / runs;
    const int c = static_cast<int>(i - pixel * runs) * kWidth, group = c / p.width;
    const float scale = p.maxima != nullptr ? common : p.scale[pixel * p.scalePitch + group];
    round_run<kWidth>(p, pixel, c, __frcp_rn(scale));
    if (p.scales != nullptr && c == group * p.width && (p.scalesPitch != 0 || pixel == 0)) p.scales[pixel * p.scalesPitch + group] = scale;
  });
}

/** kLanes lanes to each group of channels that share a scale. */
template <int kWidth, int kLanes> __device__ __forceinline__ void quantize_groups(const QuantizeParams& p) {
  const int64_t item = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  const bool inside = item < p.pixels * p.groups;
  const int64_t pixel = inside ? item / p.groups : 0;
  const int group = static_cast<int>(item - pixel * p.groups), from = group * p.width;
  const int to = inside ? min(from + p.width, p.channels) : from;
  float found = 0.0f;
  for (int c = from + lane * kWidth; c < to; c += kLanes * kWidth) {
    float v[kWidth];
    load_run<kWidth>(p.x, p.xType, pixel * p.xPitch + c, v);
    found = largest_of<kWidth>(v, found);
  }
  const float scale = code_scale(max_lanes<kLanes>(found), p.isInt8), inverse = __frcp_rn(scale);
  for (int c = from + lane * kWidth; c < to; c += kLanes * kWidth) round_run<kWidth>(p, pixel, c, inverse);
  if (inside && lane == 0 && p.scales != nullptr) p.scales[pixel * p.scalesPitch + group] = scale;
}

}  // namespace

VD_KERNEL_OVERLAPPED(quantize_maxima_vector, QuantizeParams, 256, 4, quantize_maxima<8>)
VD_KERNEL_OVERLAPPED(quantize_maxima_scalar, QuantizeParams, 256, 4, quantize_maxima<1>)
VD_KERNEL_OVERLAPPED(quantize_known_vector, QuantizeParams, 256, 4, quantize_known<8>)
VD_KERNEL_OVERLAPPED(quantize_known_scalar, QuantizeParams, 256, 4, quantize_known<1>)
VD_KERNEL_OVERLAPPED(quantize_rows_vector, QuantizeParams, 256, 4, quantize_groups<8, 32>)
VD_KERNEL_OVERLAPPED(quantize_rows_scalar, QuantizeParams, 256, 4, quantize_groups<1, 32>)
VD_KERNEL_OVERLAPPED(quantize_blocks_vector, QuantizeParams, 256, 4, quantize_groups<8, 16>)
VD_KERNEL_OVERLAPPED(quantize_blocks_scalar, QuantizeParams, 256, 4, quantize_groups<1, 32>)
