// The inner loops of layout_out, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct LayoutOutKernels {
  /** y[c · planePitch + w] = scale · x[w · pitch + c] + shift for `width` pixels of `channels`. */
  void (*line)(float* y, int64_t planePitch, const float* x, int64_t pitch, int64_t width, int64_t channels, float scale, float shift);
};

VD_DECLARE_KERNEL_TABLE(LayoutOutKernels, layout_out_kernels)

}  // namespace vd::cpu
