// The definition of linear_q8: dot products in blocks of 128 channels, each with the scales of its place.
#include <algorithm>

#include "../../native/core/activation.h"
#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

constexpr int64_t kBlock = 128;

/** Scale of block `g` of row `i`, of a tensor whose leading dimensions flatten to rows or are all 1. */
float scale_at(const Tensor& scale, int64_t i, int64_t g) { return at(scale, i, scale.channels() == 1 ? 0 : g); }

/** Row n of the weight times token i, plus the biases. */
float product(const LinearQ8Args& a, int64_t i, int64_t n) {
  const int64_t C = a.x.channels();
  const int64_t token = broadcast_pixel(a.xScale, a.x, i), row = a.weightScale.dim(0) == 1 ? 0 : n;
  float sum = 0;
  for (int64_t from = 0; from < C; from += kBlock) {
    float part = 0;
    for (int64_t c = from; c < std::min(from + kBlock, C); ++c)
      part += at(a.x, i, c) * load_element(a.weight.data, a.weight.dtype, n * C + c);
    sum += part * (scale_at(a.xScale, token, from / kBlock) * scale_at(a.weightScale, row, from / kBlock));
  }
  if (a.bias.present()) sum += load_element(a.bias.data, a.bias.dtype, n);
  const int64_t F = a.x.dims[1], S = a.x.dims[2];
  return sum + frame_bias(a.frameBias, i / (F * S), i / S % F, n);
}

}  // namespace

void linear_q8_reference(const LinearQ8Args& a, ThreadPool& pool) {
  const int64_t K = a.y.channels();
  pool.parallel_for(a.y.pixels(), [&](int64_t i, int) {
    for (int64_t k = 0; k < K; ++k) {
      const float v = product(a, i, k);
      finish(a, i, k, is_gated(a.act) ? v * activate(gate_of(a.act), product(a, i, K + k)) : activate(a.act, v));
    }
  });
}

}  // namespace vd::cpu
