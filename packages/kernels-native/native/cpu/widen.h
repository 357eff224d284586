// Floats of any type as float32, for what packs weights.
#pragma once
#include "../core/tensor.h"
#include "cpu_features.h"
#include "float_kernels.h"

namespace vd::cpu {

/** Writes the `count` floats of a tensor from element `first` on, which lie beside each other. */
inline void widen(const Tensor& t, int64_t first, int64_t count, float* out) {
  float_kernels_of(best_isa()).widen(static_cast<const std::byte*>(t.data) + first * bytes_of(t.dtype), t.dtype, count, out);
}

}  // namespace vd::cpu
