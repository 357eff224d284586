// The definition of convolutions in 8 bits: the convolution of the codes, times the scales.
#pragma once
#include "reference.h"

namespace vd::cpu {

/** Sum over taps for output pixel (b,g,p,q) and channel k. */
template <class Args> float convolved_codes(const Args& a, int64_t b, int64_t g, int64_t p, int64_t q, int64_t k) {
  const int64_t F = a.x.dims[1], H = a.x.dims[2], W = a.x.dims[3], C = a.x.dims[4];
  const int64_t T = a.weight.dims[2], R = a.weight.dims[3], S = a.weight.dims[4];
  float sum = 0;
  for (int64_t t = 0; t < T; ++t) {
    const int64_t f = g * a.stride[0] + t - a.padding[0];
    if (f < 0 || f >= F) continue;
    for (int64_t r = 0; r < R; ++r) {
      const int64_t h = p * a.stride[1] + r - a.padding[2];
      if (h < 0 || h >= H) continue;
      for (int64_t s = 0; s < S; ++s) {
        const int64_t w = q * a.stride[2] + s - a.padding[4];
        if (w < 0 || w >= W) continue;
        const int64_t pixel = ((b * F + f) * H + h) * W + w;
        for (int64_t c = 0; c < C; ++c)
          sum += at(a.x, pixel, c) * load_element(a.weight.data, a.weight.dtype, (((k * C + c) * T + t) * R + r) * S + s);
      }
    }
  }
  return sum;
}

/** The same of a transposed convolution: the taps that spread pixels leave on (p,q). */
template <class Args> float spread_codes(const Args& a, int64_t b, int64_t g, int64_t p, int64_t q, int64_t k) {
  const int64_t F = a.x.dims[1], H = a.x.dims[2], W = a.x.dims[3], C = a.x.dims[4], K = a.y.dims[4];
  const int64_t R = a.weight.dims[3], S = a.weight.dims[4];
  float sum = 0;
  for (int64_t r = 0; r < R; ++r) {
    const int64_t h = p + a.padding[2] - r;
    if (h < 0 || h % a.stride[1] != 0 || h / a.stride[1] >= H) continue;
    for (int64_t s = 0; s < S; ++s) {
      const int64_t w = q + a.padding[4] - s;
      if (w < 0 || w % a.stride[2] != 0 || w / a.stride[2] >= W) continue;
      const int64_t pixel = ((b * F + g) * H + h / a.stride[1]) * W + w / a.stride[2];
      for (int64_t c = 0; c < C; ++c) sum += at(a.x, pixel, c) * load_element(a.weight.data, a.weight.dtype, ((c * K + k) * R + r) * S + s);
    }
  }
  return sum;
}

/** Calls `store(i, k, v)` with each finished number, that of channel k of output pixel i. */
template <class Args, class Store> void scaled_convolution(const Args& a, ThreadPool& pool, const Store& store) {
  const int64_t K = a.y.dims[4], G = a.y.dims[1], P = a.y.dims[2], Q = a.y.dims[3];
  pool.parallel_for(a.y.dims[0] * G * P, [&](int64_t line, int) {
    const int64_t b = line / (G * P), g = line / P % G, p = line % P;
    const float xScale = at(a.xScale, a.xScale.dims[0] == 1 ? 0 : b, 0);
    for (int64_t q = 0; q < Q; ++q)
      for (int64_t k = 0; k < K; ++k) {
        const float scale = xScale * at(a.weightScale, a.weightScale.dims[0] == 1 ? 0 : k, 0);
        const float sum = a.transposed ? spread_codes(a, b, g, p, q, k) : convolved_codes(a, b, g, p, q, k);
        float v = sum * scale + frame_bias(a.frameBias, b, g, k);
        if (a.bias.present()) v += load_element(a.bias.data, a.bias.dtype, k);
        store(line * Q + q, k, finished(a, line * Q + q, k, activate(a.act, v)));
      }
  });
}

}  // namespace vd::cpu
