// The inner loops of resize, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** The inner loops of an instruction set, over the channels of one pixel. */
struct ResizeKernels {
  /** y = weight · x. */
  void (*first)(float* y, const float* x, float weight, int64_t channels);
  /** y += weight · x. */
  void (*further)(float* y, const float* x, float weight, int64_t channels);
};

VD_DECLARE_KERNEL_TABLE(ResizeKernels, resize_kernels)

}  // namespace vd::cpu
