// The definition of guide.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void guide_reference(const GuideArgs& a, ThreadPool& pool) {
  const int64_t HW = a.x.dims[2] * a.x.dims[3], pixels = a.x.dims[1] * HW;
  pool.parallel_for(pixels, [&](int64_t i, int) {
    for (int64_t c = 0; c < a.x.channels(); ++c) {
      const float unconditional = at(a.x, i, c);
      put(a.y, i, c, unconditional + at(a.scale, 0, i / HW) * (at(a.x, pixels + i, c) - unconditional));
    }
  });
}

}  // namespace vd::cpu
