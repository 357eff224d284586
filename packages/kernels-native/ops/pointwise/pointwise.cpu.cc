// The definition of pointwise.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void pointwise_reference(const PointwiseArgs& a, ThreadPool& pool) {
  const int64_t F = a.a.dims[1], S = a.a.dims[2];
  pool.parallel_for(a.a.pixels(), [&](int64_t i, int) {
    for (int64_t c = 0; c < a.a.channels(); ++c) {
      float v = a.aScale * at(a.a, i, c);
      if (a.b.present()) v += a.bScale * at(a.b, i, c) * (a.c.present() ? at(a.c, i, c) : 1.0f);
      put(a.y, i, c, activate(a.act, v + frame_bias(a.frameBias, i / (F * S), i / S % F, c)));
    }
  });
}

}  // namespace vd::cpu
