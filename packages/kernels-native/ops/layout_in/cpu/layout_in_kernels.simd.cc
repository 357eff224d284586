// A line of planes as pixels.
#include "layout_in_kernels.h"

#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::VD_ISA {

/** Channels of packed pixels that the compiler knows: it weaves their vectors into each other. */
template <int CHANNELS>
static void packed(float* __restrict y, const float* __restrict x, int64_t planePitch, int64_t width, float scale, float shift) {
  for (int64_t w = 0; w < width; ++w)
    for (int c = 0; c < CHANNELS; ++c) y[w * CHANNELS + c] = scale * x[c * planePitch + w] + shift;
}

static void line(float* y, int64_t pitch, const float* x, int64_t planePitch, int64_t width, int64_t channels, float scale, float shift) {
  if (pitch == 3 && channels == 3) return packed<3>(y, x, planePitch, width, scale, shift);
  if (pitch == 4 && channels == 4) return packed<4>(y, x, planePitch, width, scale, shift);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t w = 0; w < width; ++w) y[w * pitch + c] = scale * x[c * planePitch + w] + shift;
}

const LayoutInKernels layout_in_kernels = {.line = line};

}  // namespace vd::cpu::VD_ISA
