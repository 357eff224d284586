// Numbers as levels of 8 bits; a loop as simple as this the compiler turns into vectors by itself.
#include "frames_out_kernels.h"

#include <cstring>

#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::VD_ISA {

/** Added to a number below 2^22 it leaves the nearest integer, half to even, in the lowest bits. */
constexpr float kRounding = 12582912.0f;

static void levels(uint8_t* y, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float unit = 0.5f * x[i] + 0.5f;
    // The first comparison is false for NaN.
    const float positive = unit > 0.0f ? unit : 0.0f;
    const float shifted = (positive < 1.0f ? positive : 1.0f) * 255.0f + kRounding;
    uint32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    y[i] = static_cast<uint8_t>(bits);
  }
}

const FramesOutKernels frames_out_kernels = {.levels = levels};

}  // namespace vd::cpu::VD_ISA
