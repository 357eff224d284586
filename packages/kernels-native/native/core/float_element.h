// Elements of the float types in host memory, at any byte address: weights may lie in a memory-mapped file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../generated/dtype.h"
#include "half.h"

namespace vd {

/** True for the types that activations and weights may have. */
constexpr bool is_float(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

/** Returns element `index` of an array of f32, f16 or bf16. */
inline float load_element(const void* data, DType type, int64_t index) {
  const auto* bytes = static_cast<const std::byte*>(data) + index * bytes_of(type);
  if (type == DType::f32) {
    float value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return type == DType::f16 ? half_to_float(half) : bfloat16_to_float(half);
}

/** Writes element `index` of an array of f32, f16 or bf16, rounded to nearest even. */
inline void store_element(void* data, DType type, int64_t index, float value) {
  auto* bytes = static_cast<std::byte*>(data) + index * bytes_of(type);
  if (type == DType::f32) {
    std::memcpy(bytes, &value, sizeof value);
    return;
  }
  const uint16_t half = type == DType::f16 ? float_to_half(value) : float_to_bfloat16(value);
  std::memcpy(bytes, &half, sizeof half);
}

}  // namespace vd
