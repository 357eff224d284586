// Guided predictions; a loop as simple as this the compiler turns into vectors by itself.
#include "guide_kernels.h"

#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::VD_ISA {

static void guide(float* y, const float* unconditional, const float* conditional, float scale, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = unconditional[i] + scale * (conditional[i] - unconditional[i]);
}

const GuideKernels guide_kernels = {.guide = guide};

}  // namespace vd::cpu::VD_ISA
