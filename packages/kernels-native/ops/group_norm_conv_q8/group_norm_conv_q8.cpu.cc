// The definition of group_norm_conv_q8: group_norm_q8 with the given statistics, then conv_q8.
#include <vector>

#include "../../native/core/normed_conv.h"
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void group_norm_conv_q8_reference(const GroupNormConvQ8Args& a, ThreadPool& pool) {
  std::vector<uint8_t> codes(static_cast<size_t>(a.x.pixels() * a.weight.dims[1]));
  const Tensor x = normed_map(a, codes.data(), a.weight.dtype);
  group_norm_q8_reference(as_group_norm_q8(a, x), pool);
  conv_q8_reference(as_conv_q8(a, x), pool);
}

}  // namespace vd::cpu
