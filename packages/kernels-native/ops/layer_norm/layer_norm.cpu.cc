// The definition of layer_norm, with float64 statistics.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void layer_norm_reference(const LayerNormArgs& a, ThreadPool& pool) {
  const int64_t C = a.x.channels();
  pool.parallel_for(a.x.pixels(), [&](int64_t i, int) {
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < C; ++c) sum += at(a.x, i, c);
    const double mean = sum / static_cast<double>(C);
    for (int64_t c = 0; c < C; ++c) squares += (at(a.x, i, c) - mean) * (at(a.x, i, c) - mean);
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(C) + a.eps);
    for (int64_t c = 0; c < C; ++c) {
      auto v = static_cast<float>((at(a.x, i, c) - mean) * scale);
      if (a.weight.present()) v *= load_element(a.weight.data, a.weight.dtype, c);
      if (a.bias.present()) v += load_element(a.bias.data, a.bias.dtype, c);
      put(a.y, i, c, modulated(a, i, c, v));
    }
  });
}

}  // namespace vd::cpu
