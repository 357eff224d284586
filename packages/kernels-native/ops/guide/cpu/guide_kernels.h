// The inner loop of guide, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct GuideKernels {
  /** y = unconditional + scale · (conditional − unconditional) for `count` floats. */
  void (*guide)(float* y, const float* unconditional, const float* conditional, float scale, int64_t count);
};

VD_DECLARE_KERNEL_TABLE(GuideKernels, guide_kernels)

}  // namespace vd::cpu
