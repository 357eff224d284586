// The definition of conv_q8: the convolution of the codes, times the scales.
#include "../../native/cpu/convolve_reference.h"

namespace vd::cpu {

void conv_q8_reference(const ConvQ8Args& a, ThreadPool& pool) {
  const int64_t G = a.y.dims[1], P = a.y.dims[2], Q = a.y.dims[3], K = a.y.dims[4];
  pool.parallel_for(a.y.dims[0] * G * P, [&](int64_t line, int) {
    const int64_t b = line / (G * P), g = line / P % G, p = line % P;
    const float xScale = at(a.xScale, a.xScale.dims[0] == 1 ? 0 : b, 0);
    for (int64_t q = 0; q < Q; ++q)
      for (int64_t k = 0; k < K; ++k) {
        const float scale = xScale * at(a.weightScale, a.weightScale.dims[0] == 1 ? 0 : k, 0);
        float v = convolve(a, b, g, p, q, k) * scale + frame_bias(a.frameBias, b, g, k);
        if (a.bias.present()) v += load_element(a.bias.data, a.bias.dtype, k);
        finish(a, line * Q + q, k, activate(a.act, v));
      }
  });
}

}  // namespace vd::cpu
