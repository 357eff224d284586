// The inner loop of group_norm, once per instruction set.
#pragma once
#include "../../../native/cpu/kernel_table.h"
#include "../../../native/cpu/norm_rows.h"
#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct GroupNormKernels {
  /** y = act((x - center[c]) * scale[c] + offset[c]). */
  void (*scale_channels)(const NormRows& rows, const float* center, const float* scale, const float* offset,
                         Activation act);
};

VD_DECLARE_KERNEL_TABLE(GroupNormKernels, group_norm_kernels)

}  // namespace vd::cpu
