// The definition of attention_f8.
#include "../../native/cpu/attention_codes_reference.h"

namespace vd::cpu {

void attention_f8_reference(const AttentionF8Args& a, ThreadPool& pool) {
  attention_over_codes(a, pool, [&](int64_t row, int64_t d, float value) { put(a.y, row, d, value); });
}

}  // namespace vd::cpu
