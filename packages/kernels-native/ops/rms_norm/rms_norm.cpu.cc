// The definition of rms_norm, with float64 sums.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void rms_norm_reference(const RmsNormArgs& a, ThreadPool& pool) {
  const int64_t C = a.x.channels();
  pool.parallel_for(a.x.pixels(), [&](int64_t i, int) {
    double squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += static_cast<double>(at(a.x, i, c)) * at(a.x, i, c);
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(C) + a.eps);
    for (int64_t c = 0; c < C; ++c) {
      auto v = static_cast<float>(at(a.x, i, c) * factor);
      if (a.weight.present()) v *= load_element(a.weight.data, a.weight.dtype, c);
      put(a.y, i, c, modulated(a, i, c, v));
    }
  });
}

}  // namespace vd::cpu
