// A line of pixels as planes.
#include "layout_out_kernels.h"

#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::VD_ISA {

/** Channels of packed pixels that the compiler knows: it takes their vectors apart. */
template <int CHANNELS>
static void packed(float* __restrict y, int64_t planePitch, const float* __restrict x, int64_t width, float scale, float shift) {
  for (int64_t w = 0; w < width; ++w)
    for (int c = 0; c < CHANNELS; ++c) y[c * planePitch + w] = scale * x[w * CHANNELS + c] + shift;
}

static void line(float* y, int64_t planePitch, const float* x, int64_t pitch, int64_t width, int64_t channels, float scale, float shift) {
  if (pitch == 3 && channels == 3) return packed<3>(y, planePitch, x, width, scale, shift);
  if (pitch == 4 && channels == 4) return packed<4>(y, planePitch, x, width, scale, shift);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t w = 0; w < width; ++w) y[c * planePitch + w] = scale * x[w * pitch + c] + shift;
}

const LayoutOutKernels layout_out_kernels = {.line = line};

}  // namespace vd::cpu::VD_ISA
