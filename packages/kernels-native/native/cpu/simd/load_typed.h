// Loads of float types as float32, at any address.
#pragma once
#include <cstddef>

#include "../../generated/dtype.h"
#include "isa.h"

namespace vd::cpu::VD_ISA {

/** The first n elements at p, or a whole vector of them; zeros behind. */
template <DType TYPE> static inline Vec load_typed(const std::byte* p, int64_t n) {
  std::byte part[4 * Vec::kWidth];
  if (n < Vec::kWidth) {
    __builtin_memset(part, 0, sizeof part);
    __builtin_memcpy(part, p, static_cast<size_t>(n) * (TYPE == DType::f32 ? 4 : 2));
    p = part;
  }
  if constexpr (TYPE == DType::f16) return Vec::load_f16(p);
  if constexpr (TYPE == DType::bf16) return Vec::load_bf16(p);
  return Vec::load(reinterpret_cast<const float*>(p));
}

}  // namespace vd::cpu::VD_ISA
