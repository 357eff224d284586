// Reads of weights of any float type at any address: they may lie in a memory-mapped file.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../generated/dtype.h"
#include "half.h"

namespace vd::cpu {

/** True for the element types that weights may have. */
constexpr bool is_float_weight(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

/** Element `index` of an array of f32, f16 or bf16 that need not be aligned. */
inline float load_element(const void* data, DType type, int64_t index) {
  const auto* bytes = static_cast<const std::byte*>(data) + index * bytes_of(type);
  if (type == DType::f32) {
    float value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  if (type == DType::f16) return half_to_float(half);
  return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
}

}  // namespace vd::cpu
