// The definition of group_norm_conv: group_norm with the given statistics, then conv.
#include <vector>

#include "../../native/core/normed_conv.h"
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void group_norm_conv_reference(const GroupNormConvArgs& a, ThreadPool& pool) {
  std::vector<float> normed(static_cast<size_t>(a.x.pixels() * a.weight.dims[1]));
  const Tensor x = normed_map(a, normed.data(), DType::f32);
  group_norm_reference(as_group_norm(a, x), pool);
  conv_reference(as_conv(a, x), pool);
}

}  // namespace vd::cpu
