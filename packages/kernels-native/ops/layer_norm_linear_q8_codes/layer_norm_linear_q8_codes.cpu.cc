// The definition of layer_norm_linear_q8_codes: layer_norm_q8, then linear_q8_codes.
#include <vector>

#include "../../native/core/normed_linear.h"
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void layer_norm_linear_q8_codes_reference(const LayerNormLinearQ8CodesArgs& a, ThreadPool& pool) {
  std::vector<uint8_t> codes(static_cast<size_t>(a.x.count()));
  const Tensor x = normed_tokens(a, codes.data(), a.weight.dtype);
  layer_norm_q8_reference(as_layer_norm_q8(a, x), pool);
  linear_q8_codes_reference(as_linear_q8(a, x), pool);
}

}  // namespace vd::cpu
