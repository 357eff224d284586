// The definition of copy.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void copy_reference(const CopyArgs& a, ThreadPool& pool) {
  pool.parallel_for(a.x.pixels(), [&](int64_t i, int) {
    for (int64_t c = 0; c < a.x.channels(); ++c) put(a.y, i, c, at(a.x, i, c));
  });
}

}  // namespace vd::cpu
