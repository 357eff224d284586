// The inner loops of attention beside the matrix kernel, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernels.h"

namespace vd::cpu {

/** One key block of an online softmax: turns scores into unnormalised probabilities in place. */
struct SoftmaxRows {
  float* scores;  // [rows, pitch]; columns from `keys` up to a whole vector are set to 0
  int64_t pitch;
  int rows;
  int64_t keys[kMaxTileRows];  // keys that each row may see in this block; 0 for none
  int64_t paddedKeys;          // columns to fill, a multiple of the vector width
  const float* mask;           // [rows, maskPitch] added to the scaled scores, or null
  int64_t maskPitch;
  float scale;
  float* largest;    // per row: maximum so far, -inf before the first block
  float* total;      // per row: sum of probabilities so far
  float* correction; // per row, out: factor for what was summed before this block
};

/** The inner loops of an instruction set. */
struct AttentionKernels {
  void (*softmax_rows)(const SoftmaxRows& rows);
  /** out[c, r] = in[r, c] for r < rows and c < cols; columns of out from `rows` up to a whole vector become 0. */
  void (*transpose)(const float* in, int64_t inPitch, int64_t rows, int64_t cols, float* out, int64_t outPitch);
  /** y = (before * factor + add) * outFactor for `n` floats; before may be y, or null for none. */
  void (*accumulate)(float* y, const float* before, float factor, const float* add, float outFactor, int64_t n);
};

VD_DECLARE_KERNEL_TABLE(AttentionKernels, attention_kernels)

}  // namespace vd::cpu
