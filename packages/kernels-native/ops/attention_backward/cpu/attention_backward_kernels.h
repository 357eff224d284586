// The inner loops of attention's gradients, once per instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"
#include "../../../native/generated/dtype.h"

namespace vd::cpu {

/** c [m, n] = or += a [m, k] · b [k, n]. Either way of a may be the one that lies contiguous, so that it can be a transpose. */
struct MatrixProduct {
  float* c;
  int64_t cPitch;
  const float* a;
  int64_t aRowStep, aColumnStep;
  const float* b;
  int64_t bPitch;
  int64_t m, n, k;  // n is a multiple of the vector width
  bool adds;
};

/** A query against a block of keys. */
struct GradientRow {
  float* scores;       // in: q · k; out: p, 0 from `keys` on
  float* products;     // in: dy · v; out: ds · scale, 0 from `keys` on
  const float* added;  // [keys] to the scaled scores, or null
  int64_t keys;
  int64_t paddedKeys;  // columns to fill, a multiple of the vector width
  float scale, lse, delta;
};

/** The inner loops of an instruction set. */
struct AttentionBackwardKernels {
  int width;  // floats per vector
  void (*multiply)(const MatrixProduct& product);
  void (*gradient_row)(const GradientRow& row);
  /** out[c, r] = in[r, c] for r < rows and c < cols; columns of out from `rows` up to a whole vector become 0. */
  void (*transpose)(const float* in, int64_t inPitch, int64_t rows, int64_t cols, float* out, int64_t outPitch);
  /** A row of f32, f16 or bf16 as float32; zeros behind it up to a whole vector. */
  void (*read_row)(float* out, const std::byte* in, DType type, int64_t count);
  /** out[r] = the sum of a[r, i] · b[r, i] for i < count, for r < rows, with the bits that `multiply` gives it: where a query sees one key,
   *  dy · v is delta and its gradient exactly 0. */
  void (*dots)(float* out, const float* a, const float* b, int64_t pitch, int64_t rows, int64_t count);
};

VD_DECLARE_KERNEL_TABLE(AttentionBackwardKernels, attention_backward_kernels)

}  // namespace vd::cpu
