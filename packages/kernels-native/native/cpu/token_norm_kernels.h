// The inner loops of norms of tokens over their channels, once per instruction set.
#pragma once
#include <cstdint>

#include "kernel_table.h"

namespace vd::cpu {

/** What follows the normalisation of one token n, each of its channels or null: (n · weight + bias) · (1 + scale) + shift. */
struct TokenAffine {
  const float* weight;
  const float* bias;
  const float* scale;
  const float* shift;
};

/** The inner loops of an instruction set; each takes one token. */
struct TokenNormKernels {
  /** n = (x - mean) / sqrt(variance + eps). */
  void (*layer_norm)(const float* x, float* y, int64_t channels, const TokenAffine& affine, float eps);
  /** n = x / sqrt(mean square + eps). */
  void (*rms_norm)(const float* x, float* y, int64_t channels, const TokenAffine& affine, float eps);
};

VD_DECLARE_KERNEL_TABLE(TokenNormKernels, token_norm_kernels)

}  // namespace vd::cpu
