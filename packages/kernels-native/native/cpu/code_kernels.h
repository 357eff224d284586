// The inner loops between numbers and their 8-bit codes, once per instruction set: float8 e4m3 and symmetric integers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../generated/dtype.h"
#include "kernel_table.h"

namespace vd::cpu {

/** What rows of codes are copied to for products. Panels keep integers in 8 bits and floats as bf16, in which float8 is exact. */
enum class RowForm {
  biased,  // code + 128, without a sign
  i8,
  i16,
  f32,
};

/** The inner loops of an instruction set. `type`: f8e4m3 or i8; all give the bits of core/float8.h. */
struct CodeKernels {
  /** The largest magnitude of `n` numbers, as bits of a float; NaN does not count. Magnitudes are in the order of their bits. */
  int32_t (*largest)(const float* x, int64_t n);
  /** y = round(x · inverse), ties to even, saturating. */
  void (*encode)(const float* x, int64_t n, float inverse, DType type, uint8_t* y);
  /** y = codes · scale. */
  void (*decode)(const uint8_t* codes, int64_t n, DType type, float scale, float* y);
  /** The numbers behind `n` codes in a form: of integers biased, i8 or i16, of float8 f32. */
  void (*widen)(const uint8_t* codes, int64_t n, RowForm form, std::byte* out);
};

VD_DECLARE_KERNEL_TABLE(CodeKernels, code_kernels)

}  // namespace vd::cpu
