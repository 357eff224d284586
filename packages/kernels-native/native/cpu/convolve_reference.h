// The sum that convolutions are defined by.
#pragma once
#include "reference.h"

namespace vd::cpu {

/** Sum over taps for output pixel (b,g,p,q) and channel k. grow: 2 where height and width are doubled by nearest neighbour first. */
template <class Args> float convolve(const Args& a, int64_t b, int64_t g, int64_t p, int64_t q, int64_t k, int grow = 1) {
  const int64_t F = a.x.dims[1], H = a.x.dims[2], W = a.x.dims[3], C = a.x.dims[4];
  const int64_t T = a.weight.dims[2], R = a.weight.dims[3], S = a.weight.dims[4];
  float sum = 0;
  for (int64_t t = 0; t < T; ++t) {
    const int64_t f = g * a.stride[0] + t - a.padding[0];
    if (f < 0 || f >= F) continue;
    for (int64_t r = 0; r < R; ++r) {
      const int64_t h = p * a.stride[1] + r - a.padding[2];
      if (h < 0 || h >= H * grow) continue;
      for (int64_t s = 0; s < S; ++s) {
        const int64_t w = q * a.stride[2] + s - a.padding[4];
        if (w < 0 || w >= W * grow) continue;
        const int64_t pixel = ((b * F + f) * H + h / grow) * W + w / grow;
        for (int64_t c = 0; c < C; ++c)
          sum += at(a.x, pixel, c) * load_element(a.weight.data, a.weight.dtype, (((k * C + c) * T + t) * R + r) * S + s);
      }
    }
  }
  return sum;
}

}  // namespace vd::cpu
