// Elements of the float types in host memory. Reading takes any byte address: weights may lie in a memory-mapped file.
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
  const auto* bytes = static_cast<const std::byte*>(data);
  if (type == DType::f32) {
    float value;
    std::memcpy(&value, bytes + index * int64_t{sizeof value}, sizeof value);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes + index * int64_t{sizeof half}, sizeof half);
  return type == DType::f16 ? half_to_float(half) : bfloat16_to_float(half);
}

/** Writes element `index` of an array of f32, f16 or bf16 that is aligned to its type, rounded to nearest even. */
inline void store_element(void* data, DType type, int64_t index, float value) {
  // Typed stores: after one by bytes a loop would have to read its tensors' sizes and addresses again.
  if (type == DType::f32) {
    static_cast<float*>(data)[index] = value;
  } else {
    static_cast<uint16_t*>(data)[index] = type == DType::f16 ? float_to_half(value) : float_to_bfloat16(value);
  }
}

}  // namespace vd
