// The inner loops of pool, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** The inner loops of an instruction set, over the channels of one pixel. */
struct PoolKernels {
  /** most = the larger of both; NaN is larger than anything. */
  void (*larger)(float* most, const float* x, int64_t channels);
  /** sum += x. */
  void (*add)(float* sum, const float* x, int64_t channels);
  /** x *= factor. */
  void (*scale)(float* x, float factor, int64_t channels);
};

VD_DECLARE_KERNEL_TABLE(PoolKernels, pool_kernels)

}  // namespace vd::cpu
