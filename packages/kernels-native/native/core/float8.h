// Exact scalar conversions between float32 and float8 e4m3 (no infinities, NaN is 0x7f), rounding to nearest even.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace vd {

/** The largest number of float8 e4m3. Source: https://arxiv.org/abs/2209.05433. */
inline constexpr float kFloat8Max = 448.0f;

inline float float8_to_float(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  // Scaling by 2^120 turns exponents of bias 7, subnormals included, into float ones.
  const float value = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

/** Beyond ±448 the largest number, as cvt.rn.satfinite does. */
inline uint8_t float_to_float8(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint8_t>(bits >> 24 & 0x80u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  if (magnitude >= 0x43e00000u) return static_cast<uint8_t>(sign | 0x7eu);
  if (magnitude < 0x3c800000u) {
    // Adding 2^14 leaves the subnormal's bits, multiples of 2^-9 correctly rounded, at the bottom of the mantissa.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0x1p14f)));
  }
  const uint32_t rounded = magnitude + 0xc407ffffu + ((magnitude >> 20) & 1u);
  return static_cast<uint8_t>(sign | (rounded >> 20));
}

/** The nearest integer, ties to even, from -127 to 127; 0 for NaN. */
inline int8_t float_to_int8(float f) {
  // The comparisons are false for NaN.
  const float limited = f > -127.0f ? (f < 127.0f ? f : 127.0f) : f <= -127.0f ? -127.0f : 0.0f;
  return static_cast<int8_t>(std::nearbyint(limited));
}

}  // namespace vd
