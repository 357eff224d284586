// Weighted sums of pixels; loops as simple as these the compiler turns into vectors by itself.
#include "resize_kernels.h"

#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::VD_ISA {

static void first(float* __restrict y, const float* __restrict x, float weight, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) y[c] = weight * x[c];
}

static void further(float* __restrict y, const float* __restrict x, float weight, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) y[c] += weight * x[c];
}

const ResizeKernels resize_kernels = {.first = first, .further = further};

}  // namespace vd::cpu::VD_ISA
