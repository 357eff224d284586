// The definition of denoise_input.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void denoise_input_reference(const DenoiseInputArgs& a, ThreadPool& pool) {
  const int64_t HW = a.latents.dims[2] * a.latents.dims[3], pixels = a.latents.dims[1] * HW;
  const int64_t C = a.latents.channels(), C2 = a.image.channels();
  const float scale = at(a.inputScale, 0, 0);
  pool.parallel_for(a.y.pixels(), [&](int64_t i, int) {
    const bool unconditional = a.rows == 2 && i < pixels;
    for (int64_t c = 0; c < C; ++c) put(a.y, i, c, scale * at(a.latents, i % pixels, c));
    for (int64_t c = 0; c < C2; ++c) put(a.y, i, C + c, unconditional ? 0 : at(a.image, i % HW, c));
  });
}

}  // namespace vd::cpu
