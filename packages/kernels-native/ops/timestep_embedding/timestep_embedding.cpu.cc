// The definition of timestep_embedding: frequencies and angles are rounded to float32 where the source rounds them.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void timestep_embedding_reference(const TimestepEmbeddingArgs& a, ThreadPool& pool) {
  const int64_t half = a.width / 2;
  const auto rate = static_cast<float>(-std::log(static_cast<double>(a.maxPeriod)));
  pool.parallel_for(a.t.count(), [&](int64_t i, int) {
    const float t = at(a.t, i / a.t.channels(), i % a.t.channels());
    for (int64_t j = 0; j < half; ++j) {
      const float exponent = rate * static_cast<float>(j) / (static_cast<float>(half) - a.downscaleShift);
      const float angle = t * static_cast<float>(std::exp(static_cast<double>(exponent)));
      put(a.y, i, j, static_cast<float>(std::cos(static_cast<double>(angle))));
      put(a.y, i, half + j, static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  });
}

}  // namespace vd::cpu
