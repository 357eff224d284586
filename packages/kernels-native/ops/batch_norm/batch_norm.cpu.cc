// The definition of batch_norm in evaluation: one affine map a channel, found in float64.
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {

void batch_norm_reference(const BatchNormArgs& a, ThreadPool& pool) {
  const int64_t C = a.x.channels();
  const auto number = [](const Tensor& t, int64_t c, float absent) { return t.present() ? load_element(t.data, t.dtype, c) : absent; };
  std::vector<double> factor(static_cast<size_t>(C));
  for (int64_t c = 0; c < C; ++c)
    factor[static_cast<size_t>(c)] = number(a.weight, c, 1) / std::sqrt(static_cast<double>(number(a.variance, c, 1)) + a.eps);
  pool.parallel_for(a.x.pixels(), [&](int64_t i, int) {
    for (int64_t c = 0; c < C; ++c) {
      const double centred = static_cast<double>(at(a.x, i, c)) - number(a.mean, c, 0);
      put(a.y, i, c, activate(a.act, static_cast<float>(centred * factor[static_cast<size_t>(c)] + number(a.bias, c, 0))));
    }
  });
}

}  // namespace vd::cpu
