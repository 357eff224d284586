// Scales of 8-bit codes that are found at run time.
#pragma once
#include <algorithm>
#include <bit>

#include "../core/float8.h"
#include "code_kernels.h"

namespace vd::cpu {

/** What codes of `type` stand for multiples of, for numbers of at most a magnitude, given as bits of a float. */
inline float code_scale(int32_t magnitude, DType type) {
  return std::max(std::bit_cast<float>(magnitude) / (type == DType::i8 ? 127.0f : kFloat8Max), 0x1p-126f);
}

}  // namespace vd::cpu
