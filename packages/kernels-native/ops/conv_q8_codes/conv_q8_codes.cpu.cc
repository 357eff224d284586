// The definition of conv_q8_codes: conv_q8, then codes with the given scale.
#include "../../native/cpu/conv_q8_reference.h"

namespace vd::cpu {

void conv_q8_codes_reference(const ConvQ8CodesArgs& a, ThreadPool& pool) {
  const float inverse = 1.0f / at(a.yScale, 0, 0);
  scaled_convolution(a, pool, [&](int64_t i, int64_t k, float v) { store_code(a.y.data, a.y.dtype, i * a.y.pitch + k, v * inverse); });
}

}  // namespace vd::cpu
