// The inner loop of layer_norm, once per instruction set.
#pragma once
#include "../../../native/cpu/kernel_table.h"
#include "../../../native/cpu/norm_rows.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct LayerNormKernels {
  /** y = (x - mean) / sqrt(variance + eps) · weight + bias per row. */
  void (*normalise_rows)(const NormRows& rows, const float* weight, const float* bias, float eps);
};

VD_DECLARE_KERNEL_TABLE(LayerNormKernels, layer_norm_kernels)

}  // namespace vd::cpu
