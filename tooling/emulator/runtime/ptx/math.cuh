// Stands in for device/ptx/math.cuh.
#pragma once
#include "../builtins.h"

namespace vd::device::ptx {

inline float flushed(float x) { return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.0f, x) : x; }
inline float exp2_approx(float x) { return flushed(std::exp2(flushed(x))); }
inline float reciprocal_approx(float x) { return flushed(1.0f / flushed(x)); }
inline void prefetch_l2(const void*) {}
inline float sqrt_approx(float x) { return std::sqrt(x); }
inline float tanh_approx(float x) { return std::tanh(x); }
inline uint32_t packed(float first, float second) {
  const __half2 both = __floats2half2_rn(first, second);
  uint32_t word;
  memcpy(&word, &both, sizeof word);
  return word;
}
inline uint32_t tanh_approx_f16x2(uint32_t x) {
  __half2 both;
  memcpy(static_cast<void*>(&both), &x, sizeof x);
  return packed(std::tanh(__low2float(both)), std::tanh(__high2float(both)));
}
inline uint32_t saturate_f16x2(float first, float second) {
  const auto limited = [](float v) { return std::isnan(v) ? v : std::fmin(std::fmax(v, -65504.0f), 65504.0f); };
  return packed(limited(first), limited(second));
}

}  // namespace vd::device::ptx
