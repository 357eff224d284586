// The definition of layer_norm_linear: layer_norm, then linear.
#include <vector>

#include "../../native/core/normed_linear.h"
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void layer_norm_linear_reference(const LayerNormLinearArgs& a, ThreadPool& pool) {
  std::vector<float> normed(static_cast<size_t>(a.x.count()));
  const Tensor x = normed_tokens(a, normed.data(), DType::f32);
  layer_norm_reference(as_layer_norm(a, x), pool);
  linear_reference(as_linear(a, x), pool);
}

}  // namespace vd::cpu
