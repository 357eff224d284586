// The inner loops of layout_in, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct LayoutInKernels {
  /** y[w · pitch + c] = scale · x[c · planePitch + w] + shift for `width` pixels of `channels`. */
  void (*line)(float* y, int64_t pitch, const float* x, int64_t planePitch, int64_t width, int64_t channels, float scale, float shift);
};

VD_DECLARE_KERNEL_TABLE(LayoutInKernels, layout_in_kernels)

}  // namespace vd::cpu
