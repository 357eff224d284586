// Activations, in float32, in the order of vd::Activation.
#pragma once
#include "ptx/math.cuh"

namespace vd::device {

enum ActivationKind : int { kNone = 0, kSilu = 1, kGelu = 2, kGeluTanh = 3, kQuickGelu = 4, kGeglu = 5 };

inline constexpr float kLog2E = 1.4426950408889634f;

/** 1 / (1 + exp(-x)) to float32 rounding. */
__device__ __forceinline__ float sigmoid(float x) { return ptx::reciprocal_approx(1.0f + ptx::exp2_approx(-kLog2E * x)); }
__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }
/** x · Φ(x), the exact form. */
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }
/** gelu within 3e-7 · |x|, for 16-bit results (erf: Abramowitz and Stegun 7.1.26). */
__device__ __forceinline__ float gelu_fast(float x) {
  const float z = fabsf(x) * 0.70710678118654752f, t = ptx::reciprocal_approx(fmaf(0.3275911f, z, 1.0f));
  float series = fmaf(1.061405429f, t, -1.453152027f);
  series = fmaf(series, t, 1.421413741f);
  series = fmaf(series, t, -0.284496736f);
  series = fmaf(series, t, 0.254829592f) * t;
  const float tail = 0.5f * series * ptx::exp2_approx(-kLog2E * z * z);  // 1 - Φ(|x|)
  return x * (x >= 0.0f ? 1.0f - tail : tail);
}
/** 0.5 x (1 + tanh(u)) = x · sigmoid(2u), u = sqrt(2/π) (x + 0.044715 x³). */
__device__ __forceinline__ float gelu_tanh(float x) {
  return x * sigmoid(1.5957691216057308f * (x + 0.044715f * x * x * x));
}
__device__ __forceinline__ float quick_gelu(float x) { return x * sigmoid(1.702f * x); }

template <int N> __device__ __forceinline__ void activate(float (&v)[N], int act) {
  if (act == kNone) return;
  if (act == kSilu) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = silu(v[i]);
  } else if (act == kGelu) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = gelu(v[i]);
  } else if (act == kGeluTanh) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = gelu_tanh(v[i]);
  } else if (act == kQuickGelu) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = quick_gelu(v[i]);
  }
}

}  // namespace vd::device
