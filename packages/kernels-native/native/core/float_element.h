// Elements of the float types, and of those that stand for numbers in 8 bits, in host memory. Reading takes any byte address: weights
// may lie in a memory-mapped file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../generated/dtype.h"
#include "float8.h"
#include "half.h"

namespace vd {

/** True for the types that activations and weights may have. */
constexpr bool is_float(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

/** Returns element `index` of an array of f8e4m3 or i8. */
inline float load_code(const void* data, DType type, int64_t index) {
  const uint8_t code = static_cast<const uint8_t*>(data)[index];
  return type == DType::f8e4m3 ? float8_to_float(code) : static_cast<float>(static_cast<int8_t>(code));
}

/** Returns element `index` of an array of f32, f16, bf16, f8e4m3 or i8. */
inline float load_element(const void* data, DType type, int64_t index) {
  const auto* bytes = static_cast<const std::byte*>(data);
  if (type == DType::f32) {
    float value;
    std::memcpy(&value, bytes + index * int64_t{sizeof value}, sizeof value);
    return value;
  }
  if (type == DType::f8e4m3 || type == DType::i8) return load_code(data, type, index);
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

/** Writes element `index` of an array of f8e4m3 or i8, rounded to nearest even, saturating. */
inline void store_code(void* data, DType type, int64_t index, float value) {
  static_cast<uint8_t*>(data)[index] = type == DType::i8 ? static_cast<uint8_t>(float_to_int8(value)) : float_to_float8(value);
}

}  // namespace vd
