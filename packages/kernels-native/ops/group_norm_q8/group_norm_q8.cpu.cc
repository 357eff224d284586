// The definition of group_norm_q8: group_norm, then codes with the given scale.
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {

void group_norm_q8_reference(const GroupNormQ8Args& a, ThreadPool& pool) {
  const int64_t channels = a.y.channels();
  std::vector<float> normed(static_cast<size_t>(a.y.pixels() * channels));
  const Tensor y{normed.data(), DType::f32, 5, {a.y.dims[0], a.y.dims[1], a.y.dims[2], a.y.dims[3], channels}, channels, false};
  group_norm_reference({a.x, a.x2, a.weight, a.bias, a.stats, y, a.groups, a.eps, a.act, a.joinFrames}, pool);
  const float inverse = 1.0f / at(a.yScale, 0, 0);
  pool.parallel_for(a.y.pixels(), [&](int64_t i, int) {
    for (int64_t c = 0; c < channels; ++c) store_code(a.y.data, a.y.dtype, i * a.y.pitch + c, at(y, i, c) * inverse);
  });
}

}  // namespace vd::cpu
