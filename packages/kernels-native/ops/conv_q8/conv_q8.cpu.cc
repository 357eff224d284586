// The definition of conv_q8: the convolution of the codes, times the scales; then the moments of the result.
#include "../../native/cpu/conv_q8_reference.h"

namespace vd::cpu {

void conv_q8_reference(const ConvQ8Args& a, ThreadPool& pool) {
  scaled_convolution(a, pool, [&](int64_t i, int64_t k, float v) { put(a.y, i, k, v); });
  if (a.moments.present()) measure_channels(a.y, a.moments, pool);
}

}  // namespace vd::cpu
