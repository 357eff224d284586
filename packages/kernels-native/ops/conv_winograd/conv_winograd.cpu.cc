// The definition of conv_winograd: group_norm with the given statistics, if any, then conv.
#include <vector>

#include "../../native/core/normed_conv.h"
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void conv_winograd_reference(const ConvWinogradArgs& a, ThreadPool& pool) {
  if (!a.stats.present()) return conv_reference(as_conv(a, a.x), pool);
  const int64_t channels = a.weight.dims[1];
  std::vector<float> normed(static_cast<size_t>(a.x.pixels() * channels));
  const Tensor x = normed_map(a, normed.data(), DType::f32);
  group_norm_reference(as_group_norm(a, x), pool);
  conv_reference(as_conv(a, x), pool);
}

}  // namespace vd::cpu
