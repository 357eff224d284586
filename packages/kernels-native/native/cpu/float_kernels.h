// The inner loops between float32 numbers and floats as they are stored, once per instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../generated/dtype.h"
#include "kernel_table.h"

namespace vd::cpu {

struct FloatKernels {
  /** y = the `n` elements at x, of any address, of type f32, f16 or bf16. Returns whether all are finite. */
  bool (*widen)(const std::byte* x, DType type, int64_t n, float* y);
  /** y = x as elements of type f16 or bf16, rounded to nearest even: the bits of core/half.h. */
  void (*narrow)(const float* x, DType type, int64_t n, std::byte* y);
  /** The largest magnitude, or NaN where there is one. */
  float (*largest)(const float* x, int64_t n);
};

VD_DECLARE_KERNEL_TABLE(FloatKernels, float_kernels)

}  // namespace vd::cpu
