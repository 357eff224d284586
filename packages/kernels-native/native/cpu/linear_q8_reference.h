// The definition of linear layers in 8 bits: dot products in blocks of 128 channels, each with the scales of its place.
#pragma once
#include <algorithm>

#include "../core/activation.h"
#include "reference.h"

namespace vd::cpu {

/** Channels that may have a scale of their own. */
inline constexpr int64_t kScaledBlock = 128;

/** Scale of block `g` of row `i`, of a tensor whose leading dimensions flatten to rows or are all 1. */
inline float block_scale(const Tensor& scale, int64_t i, int64_t g) { return at(scale, i, scale.channels() == 1 ? 0 : g); }

/** Row n of the weight times token i, plus the biases. */
template <class Args> float scaled_product(const Args& a, int64_t i, int64_t n) {
  const int64_t C = a.x.channels();
  const int64_t token = broadcast_pixel(a.xScale, a.x, i), row = a.weightScale.dim(0) == 1 ? 0 : n;
  float sum = 0;
  for (int64_t from = 0; from < C; from += kScaledBlock) {
    float part = 0;
    for (int64_t c = from; c < std::min(from + kScaledBlock, C); ++c)
      part += at(a.x, i, c) * load_element(a.weight.data, a.weight.dtype, n * C + c);
    sum += part * (block_scale(a.xScale, token, from / kScaledBlock) * block_scale(a.weightScale, row, from / kScaledBlock));
  }
  if (a.bias.present()) sum += load_element(a.bias.data, a.bias.dtype, n);
  const int64_t F = a.x.dims[1], S = a.x.dims[2];
  return sum + frame_bias(a.frameBias, i / (F * S), i / S % F, n);
}

/** Channel k of token i of the result, activated, before scale and residuals. */
template <class Args> float scaled_linear(const Args& a, int64_t i, int64_t k) {
  const float v = scaled_product(a, i, k);
  return is_gated(a.act) ? v * activate(gate_of(a.act), scaled_product(a, i, a.y.channels() + k)) : activate(a.act, v);
}

}  // namespace vd::cpu
