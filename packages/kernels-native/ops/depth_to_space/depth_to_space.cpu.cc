// The definition of depth_to_space: every output element has one source.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void depth_to_space_reference(const DepthToSpaceArgs& a, ThreadPool& pool) {
  const int64_t bt = a.block[0], bh = a.block[1], bw = a.block[2], C = a.y.channels();
  const int64_t G = a.y.dims[1], P = a.y.dims[2], Q = a.y.dims[3];
  pool.parallel_for(a.y.dims[0] * G * P, [&](int64_t line, int) {
    const int64_t b = line / (G * P), g = line / P % G, p = line % P;
    for (int64_t q = 0; q < Q; ++q) {
      const int64_t source = ((b * a.x.dims[1] + g / bt) * a.x.dims[2] + p / bh) * a.x.dims[3] + q / bw;
      const int64_t dt = g % bt, dy = p % bh, dx = q % bw;
      for (int64_t c = 0; c < C; ++c) {
        const int64_t channel =
            a.order == DepthOrder::channels_first ? ((c * bt + dt) * bh + dy) * bw + dx : ((dy * bw + dx) * bt + dt) * C + c;
        put(a.y, line * Q + q, c, at(a.x, source, channel));
      }
    }
  });
}

}  // namespace vd::cpu
