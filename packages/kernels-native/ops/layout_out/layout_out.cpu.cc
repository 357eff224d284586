// The definition of layout_out.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void layout_out_reference(const LayoutOutArgs& a, ThreadPool& pool) {
  const int64_t H = a.x.dims[2], W = a.x.dims[3], C = a.x.dims[4];
  pool.parallel_for(a.x.dims[0] * a.x.dims[1] * H, [&](int64_t line, int) {
    const int64_t frame = line / H, h = line % H;
    for (int64_t c = 0; c < C; ++c)
      for (int64_t w = 0; w < W; ++w) put(a.y, (frame * C + c) * H + h, w, a.scale * at(a.x, line * W + w, c) + a.shift);
  });
}

}  // namespace vd::cpu
