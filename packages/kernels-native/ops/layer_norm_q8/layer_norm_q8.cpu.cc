// The definition of layer_norm_q8: layer_norm, then each token as quantize rounds it, which takes a scale for each token or finds it.
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {

void layer_norm_q8_reference(const LayerNormQ8Args& a, ThreadPool& pool) {
  const int64_t channels = a.x.channels();
  std::vector<float> normed(static_cast<size_t>(a.x.pixels() * channels));
  const Tensor y{normed.data(), DType::f32, 4, {a.x.dims[0], a.x.dims[1], a.x.dims[2], channels}, channels, false};
  layer_norm_reference({a.x, a.weight, a.bias, a.scale, a.shift, y, a.eps}, pool);
  // The one number stands for the scale of every token: none is a step from the next.
  const Tensor known{a.yScale.data, DType::f32, 4, {a.x.dims[0], a.x.dims[1], a.x.dims[2], 1}, 0, false};
  quantize_reference({y, known, a.y, a.scales, ScalesPer::row}, pool);
}

}  // namespace vd::cpu
