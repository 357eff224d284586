// The definition of space_to_depth: the inverse of depth_to_space with channels first.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void space_to_depth_reference(const SpaceToDepthArgs& a, ThreadPool& pool) {
  const int64_t bt = a.block[0], bh = a.block[1], bw = a.block[2];
  const int64_t F = a.x.dims[1], H = a.x.dims[2], W = a.x.dims[3];
  pool.parallel_for(a.x.dims[0] * F * H, [&](int64_t line, int) {
    const int64_t b = line / (F * H), f = line / H % F, h = line % H;
    for (int64_t w = 0; w < W; ++w) {
      const int64_t target = ((b * a.y.dims[1] + f / bt) * a.y.dims[2] + h / bh) * a.y.dims[3] + w / bw;
      for (int64_t c = 0; c < a.x.channels(); ++c)
        put(a.y, target, ((c * bt + f % bt) * bh + h % bh) * bw + w % bw, at(a.x, line * W + w, c));
    }
  });
}

}  // namespace vd::cpu
