// The definition of layout_in.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void layout_in_reference(const LayoutInArgs& a, ThreadPool& pool) {
  const int64_t C = a.x.dims[2], H = a.x.dims[3], W = a.x.dims[4];
  pool.parallel_for(a.x.dims[0] * a.x.dims[1] * H, [&](int64_t line, int) {
    const int64_t frame = line / H, h = line % H;
    for (int64_t c = 0; c < C; ++c)
      for (int64_t w = 0; w < W; ++w) put(a.y, line * W + w, c, a.scale * at(a.x, (frame * C + c) * H + h, w) + a.shift);
  });
}

}  // namespace vd::cpu
