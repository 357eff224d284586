#include "../../native/cpu/linear_q8_reference.h"

namespace vd::cpu {

void linear_q8_reference(const LinearQ8Args& a, ThreadPool& pool) {
  pool.parallel_for(a.y.pixels(), [&](int64_t i, int) {
    for (int64_t k = 0; k < a.y.channels(); ++k) finish(a, i, k, scaled_linear(a, i, k));
  });
}

}  // namespace vd::cpu
