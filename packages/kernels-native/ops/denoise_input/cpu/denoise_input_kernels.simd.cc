// Channels beside those of another tensor.
#include "denoise_input_kernels.h"

#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::VD_ISA {

/** CHANNELS that the compiler knows: a pixel is one vector. */
template <int CHANNELS> static void few_channels(const ChannelsIn& in) {
  float* __restrict y = in.y;
  const float* __restrict x = in.x;
  const float scale = in.scale;
  for (int64_t w = 0; w < in.width; ++w, y += in.yPitch, x += in.xPitch)
    for (int c = 0; c < CHANNELS; ++c) y[c] = scale * x[c];
}

static void channels(const ChannelsIn& in) {
  if (in.x && in.channels == 4) return few_channels<4>(in);
  for (int64_t w = 0; w < in.width; ++w) {
    float* y = in.y + w * in.yPitch;
    if (!in.x) {
      for (int64_t c = 0; c < in.channels; ++c) y[c] = 0.0f;
      continue;
    }
    const float* x = in.x + w * in.xPitch;
    for (int64_t c = 0; c < in.channels; ++c) y[c] = in.scale * x[c];
  }
}

const DenoiseInputKernels denoise_input_kernels = {.channels = channels};

}  // namespace vd::cpu::VD_ISA
