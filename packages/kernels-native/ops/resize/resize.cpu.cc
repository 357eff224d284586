// The definition of resize: nearest picks indices in float32 as PyTorch does; the others weigh and sum in float64.
#include "../../native/cpu/reference.h"
#include "cpu/resize_taps.h"

namespace vd::cpu {

void resize_reference(const ResizeArgs& a, ThreadPool& pool) {
  const int64_t H = a.x.dims[2], W = a.x.dims[3], P = a.height, Q = a.width;
  pool.parallel_for(a.y.dims[0] * a.y.dims[1] * P, [&](int64_t line, int) {
    const Taps rows = taps_of(line % P, H, P, a.mode, a.alignCorners);
    for (int64_t q = 0; q < Q; ++q) {
      const Taps columns = taps_of(q, W, Q, a.mode, a.alignCorners);
      for (int64_t c = 0; c < a.x.channels(); ++c) {
        double sum = 0;
        for (int r = 0; r < rows.count; ++r) {
          double row = 0;
          for (int s = 0; s < columns.count; ++s)
            row += columns.weight[s] * at(a.x, (line / P * H + rows.index[r]) * W + columns.index[s], c);
          sum += rows.weight[r] * row;
        }
        put(a.y, line * Q + q, c, static_cast<float>(sum));
      }
    }
  });
}

}  // namespace vd::cpu
