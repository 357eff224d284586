// resize: nearest, bilinear or bicubic; eight channels of an output pixel a thread, or one when unaligned. Source positions
// are rounded step by step as the definition rounds them: a fused multiply-add would pick other pixels.
// Symbols: resize_vector, resize_scalar.
#include "../../device/elementwise.cuh"
#include "resize_params.h"

using namespace vd::device;

namespace {

enum Mode : int { kNearest = 0, kBilinear = 1 };

/** Up to four source indices along one axis and their weights. */
struct Taps {
  int index[4];
  float weight[4];
  int count;
};

/** Cubic convolution kernel with A = -0.75 at distance x. */
__device__ __forceinline__ float cubic(float x) {
  constexpr float A = -0.75f;
  x = fabsf(x);
  return x <= 1.0f ? ((A + 2.0f) * x - (A + 3.0f)) * x * x + 1.0f : ((A * x - 5.0f * A) * x + 8.0f * A) * x - 4.0f * A;
}

__device__ __forceinline__ float source_position(int i, int in, int out, int mode, bool alignCorners) {
  if (alignCorners)
    return out > 1 ? __fmul_rn(__fdiv_rn(static_cast<float>(in - 1), static_cast<float>(out - 1)), static_cast<float>(i)) : 0.0f;
  const float scale = __fdiv_rn(static_cast<float>(in), static_cast<float>(out));
  const float position = __fsub_rn(__fmul_rn(scale, __fadd_rn(static_cast<float>(i), 0.5f)), 0.5f);
  return mode == kBilinear ? fmaxf(position, 0.0f) : position;
}

__device__ __forceinline__ Taps taps_of(int i, int in, int out, int mode, bool alignCorners) {
  Taps taps{};
  if (mode == kNearest) {
    const float scale = __fdiv_rn(static_cast<float>(in), static_cast<float>(out));
    taps.index[0] = min(static_cast<int>(floorf(__fmul_rn(static_cast<float>(i), scale))), in - 1);
    taps.weight[0] = 1.0f;
    taps.count = 1;
    return taps;
  }
  const float position = source_position(i, in, out, mode, alignCorners);
  const float floored = floorf(position), t = position - floored;
  const int first = static_cast<int>(floored) - (mode == kBilinear ? 0 : 1);
  taps.count = mode == kBilinear ? 2 : 4;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    taps.index[j] = min(max(first + j, 0), in - 1);
    taps.weight[j] = mode == kBilinear ? (j == 0 ? 1.0f - t : t) : cubic(t + 1.0f - static_cast<float>(j));
  }
  return taps;
}

template <int kWidth> __device__ __forceinline__ void resize(const ResizeParams& p) {
  const int runs = p.channels / kWidth;
  for_each_item(p.pixels * runs, [&](int64_t i) {
    const int64_t pixel = i / runs;
    const int c = static_cast<int>(i - pixel * runs) * kWidth;
    const int64_t line = pixel / p.outWidth, frame = line / p.outHeight;
    const Taps rows = taps_of(static_cast<int>(line - frame * p.outHeight), p.inHeight, p.outHeight, p.mode, p.alignCorners);
    const Taps columns = taps_of(static_cast<int>(pixel - line * p.outWidth), p.inWidth, p.outWidth, p.mode, p.alignCorners);
    float sum[kWidth] = {};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (r >= rows.count) break;
      const int64_t source = (frame * p.inHeight + rows.index[r]) * p.inWidth;
      float row[kWidth] = {};
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        if (s >= columns.count) break;
        float v[kWidth];
        load_run(p.x, p.xType, (source + columns.index[s]) * p.xPitch + c, v);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) row[j] = fmaf(columns.weight[s], v[j], row[j]);
      }
#pragma unroll
      for (int j = 0; j < kWidth; ++j) sum[j] = fmaf(rows.weight[r], row[j], sum[j]);
    }
    store_run(p.y, p.yType, pixel * p.yPitch + c, sum);
  });
}

}  // namespace

VD_KERNEL_OVERLAPPED(resize_vector, ResizeParams, 256, 2, resize<8>)
VD_KERNEL_OVERLAPPED(resize_scalar, ResizeParams, 256, 2, resize<1>)
