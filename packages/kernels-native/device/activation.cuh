// Activations, in float32, in the order of vd::Activation.
#pragma once
#include <cuda_fp16.h>

#include "ptx/math.cuh"

namespace vd::device {

enum ActivationKind : int { kNone = 0, kSilu = 1, kGelu = 2, kGeluTanh = 3, kQuickGelu = 4, kRelu = 5, kGeglu = 6, kSwiglu = 7 };

inline constexpr float kLog2E = 1.4426950408889634f;

__device__ __forceinline__ __half2 tanh_of(__half2 x) {
  const uint32_t result = ptx::tanh_approx_f16x2(*reinterpret_cast<const uint32_t*>(&x));
  return *reinterpret_cast<const __half2*>(&result);
}

/** 1 / (1 + exp(-x)) to float32 rounding. */
__device__ __forceinline__ float sigmoid(float x) { return ptx::reciprocal_approx(1.0f + ptx::exp2_approx(-kLog2E * x)); }
__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }
/** x · Φ(x), the exact form. */
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }
/** gelu within 4e-5 (2e-5 in the mean over a normal distribution, a tenth of a float16's rounding at 1), for 16-bit results:
 *  Φ(x) = 1/2 + x q(x²), q of degree 8 fitted to x Φ(x) over |x| ≤ 4.5 with Φ(4.5) = 1. No special functions, whose unit
 *  takes eight cycles a warp. */
__device__ __forceinline__ float gelu_fast(float x) {
  const float t = fminf(x * x, 20.25f);
  float q = fmaf(2.9999870643226956e-11f, t, -3.283894267624987e-09f);
  q = fmaf(q, t, 1.5802503128270473e-07f);
  q = fmaf(q, t, -4.4316707317193504e-06f);
  q = fmaf(q, t, 8.120954589685425e-05f);
  q = fmaf(q, t, -0.0010362521279603243f);
  q = fmaf(q, t, 0.009580649435520172f);
  q = fmaf(q, t, -0.06597726047039032f);
  q = fmaf(q, t, 0.3987085819244385f);
  return x * __saturatef(fmaf(x, q, 0.5f));
}
/** 2 gelu(x), where the other factor of a product takes the half: x + x tanh(x q(|x|)), q fitted so that gelu is within 1.4e-4 (9e-5 in the
 *  mean over a normal distribution), and what the unit's tanh is off, 2^-11 of it. Half the instructions of gelu_fast. */
__device__ __forceinline__ float doubled_gelu(float x) {
  const float a = fabsf(x);
  return fmaf(x, ptx::tanh_approx(x * fmaf(fmaf(0.03138788f, a, 0.01057361f), a, 0.79256788f)), x);
}
/** The same of two float16, for results of 8 bits. */
__device__ __forceinline__ __half2 doubled_gelu(__half2 x) {
  const auto both = [](float v) { return __float2half2_rn(v); };
  const __half2 a = __habs2(x), q = __hfma2(__hfma2(both(0.03138788f), a, both(0.01057361f)), a, both(0.79256788f));
  return __hfma2(x, tanh_of(__hmul2(x, q)), x);
}
/** 2 silu(x) by one special function, for results of 8 bits: x + x tanh(x / 2). */
__device__ __forceinline__ float doubled_silu(float x) { return fmaf(x, ptx::tanh_approx(0.5f * x), x); }
__device__ __forceinline__ __half2 doubled_silu(__half2 x) { return __hfma2(x, tanh_of(__hmul2(x, __float2half2_rn(0.5f))), x); }
/** tanh within 4e-7 of itself, for 16-bit results: its series where |x| < 1/4, else 1 - 2 / (1 + exp(2x)); without branches. */
__device__ __forceinline__ float tanh_fast(float x) {
  const float s = x * x, series = x * fmaf(s, fmaf(s, fmaf(s, -0.053968254f, 0.13333333f), -0.33333333f), 1.0f);
  const float whole = fmaf(-2.0f, ptx::reciprocal_approx(1.0f + ptx::exp2_approx(2.0f * kLog2E * x)), 1.0f);
  return fabsf(x) < 0.25f ? series : whole;
}
/** 0.5 x (1 + tanh(u)) = x · sigmoid(2u), u = sqrt(2/π) (x + 0.044715 x³). */
__device__ __forceinline__ float gelu_tanh(float x) { return x * sigmoid(1.5957691216057308f * (x + 0.044715f * x * x * x)); }
__device__ __forceinline__ float quick_gelu(float x) { return x * sigmoid(1.702f * x); }
/** max(0, x), NaN where x is. */
__device__ __forceinline__ float relu(float x) { return x < 0.0f ? 0.0f : x; }

/** Activates all of v. kFast: gelu as it suffices for 16-bit results. */
template <bool kFast = false, int N> __device__ __forceinline__ void activate(float (&v)[N], int act) {
  if (act == kNone) return;
  if (act == kSilu) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = silu(v[i]);
  } else if (act == kGelu) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = kFast ? gelu_fast(v[i]) : gelu(v[i]);
  } else if (act == kGeluTanh) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = gelu_tanh(v[i]);
  } else if (act == kQuickGelu) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = quick_gelu(v[i]);
  } else if (act == kRelu) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = relu(v[i]);
  }
}

}  // namespace vd::device
