// What norms of channel groups apply to what they normalised, known when the kernel is compiled: nothing is decided between the loads of a
// round. They take numbers times kFactor, which whoever calls them puts into scales and shifts.
#pragma once
#include "activation.cuh"

namespace vd::device {

/** x · sigmoid(x) to float32 rounding. */
struct NormSilu {
  static constexpr float kFactor = 1.0f;
  template <int kWidth> __device__ __forceinline__ void operator()(float (&v)[kWidth]) const {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) v[i] = silu(v[i]);
  }
};
/** The same of x = 2h as h + h · tanh(h), for results of 16 and 8 bits: one special function and an instruction, where the other form has
 *  two and four. It is within |x| / 4096, half of what x loses as float16. */
struct NormHalvedSilu {
  static constexpr float kFactor = 0.5f;
  template <int kWidth> __device__ __forceinline__ void operator()(float (&h)[kWidth]) const {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) h[i] = fmaf(h[i], ptx::tanh_approx(h[i]), h[i]);
  }
};
/** None. */
struct NormNoActivation {
  static constexpr float kFactor = 1.0f;
  template <int kWidth> __device__ __forceinline__ void operator()(float (&)[kWidth]) const {}
};
/** Any. */
struct NormAnyActivation {
  static constexpr float kFactor = 1.0f;
  int act;
  template <int kWidth> __device__ __forceinline__ void operator()(float (&v)[kWidth]) const { activate(v, act); }
};

}  // namespace vd::device
