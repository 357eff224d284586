// The definition of linear: dot products of tokens with rows of the weight.
#include "../../native/core/activation.h"
#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** Row n of the weight times token i of [x | x2], plus the biases. */
float product(const LinearArgs& a, int64_t i, int64_t n) {
  const int64_t C = a.x.channels(), C2 = a.x2.present() ? a.x2.channels() : 0;
  const int64_t row = n * (C + C2);
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += at(a.x, i, c) * load_element(a.weight.data, a.weight.dtype, row + c);
  for (int64_t c = 0; c < C2; ++c) sum += at(a.x2, i, c) * load_element(a.weight.data, a.weight.dtype, row + C + c);
  if (a.bias.present()) sum += load_element(a.bias.data, a.bias.dtype, n);
  const int64_t F = a.x.dims[1], S = a.x.dims[2];
  return sum + frame_bias(a.frameBias, i / (F * S), i / S % F, n);
}

}  // namespace

void linear_reference(const LinearArgs& a, ThreadPool& pool) {
  const int64_t K = a.y.channels();
  pool.parallel_for(a.y.pixels(), [&](int64_t i, int) {
    for (int64_t k = 0; k < K; ++k) {
      const float v = product(a, i, k);
      finish(a, i, k, is_gated(a.act) ? v * activate(gate_of(a.act), product(a, i, K + k)) : activate(a.act, v));
    }
  });
}

}  // namespace vd::cpu
