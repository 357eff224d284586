// pool: the maximum or the average of windows; eight channels of an output pixel a thread, or one when unaligned.
// Symbols: pool_max_vector, pool_max_scalar, pool_average_vector, pool_average_scalar.
#include "../../device/elementwise.cuh"
#include "pool_params.h"

using namespace vd::device;

namespace {

/** Source indices of one axis that a window covers. */
struct Range {
  int begin, end;
};
__device__ __forceinline__ Range range_of(const PoolParams& p, int axis, int place) {
  const int first = place * p.stride[axis] - p.padding[axis];
  return {max(first, 0), min(first + p.kernel[axis], p.source[axis])};
}

/** The larger one; NaN, where there is one, is the largest, as in PyTorch. */
__device__ __forceinline__ float larger(float a, float b) { return b > a || b != b ? b : a; }

template <int kWidth, bool kMax> __device__ __forceinline__ void pool(const PoolParams& p) {
  const int runs = p.channels / kWidth;
  for_each_item(p.pixels * runs, [&](int64_t i) {
    const int64_t pixel = i / runs, line = pixel / p.out[2], plane = line / p.out[1], clip = plane / p.out[0];
    const int c = static_cast<int>(i - pixel * runs) * kWidth;
    const Range f = range_of(p, 0, static_cast<int>(plane - clip * p.out[0]));
    const Range h = range_of(p, 1, static_cast<int>(line - plane * p.out[1]));
    const Range w = range_of(p, 2, static_cast<int>(pixel - line * p.out[2]));
    float sum[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum[j] = kMax ? -INFINITY : 0.0f;
    for (int frame = f.begin; frame < f.end; ++frame)
      for (int row = h.begin; row < h.end; ++row) {
        const int64_t start = ((clip * p.source[0] + frame) * p.source[1] + row) * p.source[2];
#pragma unroll 2
        for (int column = w.begin; column < w.end; ++column) {
          float v[kWidth];
          load_run(p.x, p.xType, (start + column) * p.xPitch + c, v);
#pragma unroll
          for (int j = 0; j < kWidth; ++j) sum[j] = kMax ? larger(sum[j], v[j]) : sum[j] + v[j];
        }
      }
    if constexpr (!kMax) {
      const int inside = (f.end - f.begin) * (h.end - h.begin) * (w.end - w.begin);
      const float factor = 1.0f / static_cast<float>(p.fixedCount > 0 ? p.fixedCount : inside);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) sum[j] *= factor;
    }
    store_run(p.y, p.yType, pixel * p.yPitch + c, sum);
  });
}

}  // namespace

VD_KERNEL_OVERLAPPED(pool_max_vector, PoolParams, 256, 2, pool<8, true>)
VD_KERNEL_OVERLAPPED(pool_max_scalar, PoolParams, 256, 2, pool<1, true>)
VD_KERNEL_OVERLAPPED(pool_average_vector, PoolParams, 256, 2, pool<8, false>)
VD_KERNEL_OVERLAPPED(pool_average_scalar, PoolParams, 256, 2, pool<1, false>)
