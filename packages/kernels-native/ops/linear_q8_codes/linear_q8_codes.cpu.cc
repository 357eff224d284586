// The definition of linear_q8_codes: linear_q8, then codes with the given scale.
#include "../../native/cpu/linear_q8_reference.h"

namespace vd::cpu {

void linear_q8_codes_reference(const LinearQ8CodesArgs& a, ThreadPool& pool) {
  const float inverse = 1.0f / at(a.yScale, 0, 0);
  pool.parallel_for(a.y.pixels(), [&](int64_t i, int) {
    for (int64_t k = 0; k < a.y.channels(); ++k)
      store_code(a.y.data, a.y.dtype, i * a.y.pitch + k, finished(a, i, k, scaled_linear(a, i, k)) * inverse);
  });
}

}  // namespace vd::cpu
