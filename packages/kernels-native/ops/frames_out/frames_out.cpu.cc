// The definition of frames_out.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void frames_out_reference(const FramesOutArgs& a, ThreadPool& pool) {
  const int64_t W = a.x.dims[3], C = a.x.channels();
  pool.parallel_for(a.x.pixels() / W, [&](int64_t line, int) {
    for (int64_t i = line * W; i < (line + 1) * W; ++i)
      for (int64_t c = 0; c < C; ++c) {
        const float unit = 0.5f * at(a.x, i, c) + 0.5f;
        // The comparisons are false for NaN.
        const float level = unit > 0.0f ? (unit < 1.0f ? unit : 1.0f) * 255.0f : 0.0f;
        static_cast<uint8_t*>(a.y.data)[i * a.y.pitch + c] = static_cast<uint8_t>(std::nearbyint(level));
      }
  });
}

}  // namespace vd::cpu
