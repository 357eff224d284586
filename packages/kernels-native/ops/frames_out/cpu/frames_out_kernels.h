// The inner loops of frames_out, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct FramesOutKernels {
  /** y = the level from 0 to 255 of numbers from -1 to 1, rounded half to even; 0 for NaN. */
  void (*levels)(uint8_t* y, const float* x, int64_t count);
};

VD_DECLARE_KERNEL_TABLE(FramesOutKernels, frames_out_kernels)

}  // namespace vd::cpu
