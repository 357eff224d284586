// The definition of attention_f8_codes: attention_f8, then codes with the given scale.
#include "../../native/cpu/attention_codes_reference.h"

namespace vd::cpu {

void attention_f8_codes_reference(const AttentionF8CodesArgs& a, ThreadPool& pool) {
  const float inverse = 1.0f / at(a.yScale, 0, 0);
  attention_over_codes(a, pool,
                       [&](int64_t row, int64_t d, float value) { store_code(a.y.data, a.y.dtype, row * a.y.pitch + d, value * inverse); });
}

}  // namespace vd::cpu
