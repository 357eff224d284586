// The definition of conv: for every output pixel and channel, the sum over taps and input channels; then the moments of the result.
#include <algorithm>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** Pixel (b,f,h,w) of x; frames before 0 are those of `past`. */
float element(const ConvArgs& a, int64_t b, int64_t f, int64_t h, int64_t w, int64_t c) {
  const Tensor& from = f < 0 ? a.past : a.x;
  const int64_t frames = from.dims[1], H = from.dims[2], W = from.dims[3];
  return at(from, ((b * frames + (f < 0 ? f + frames : f)) * H + h) * W + w, c);
}

/** Position of x that a tap reads, or -1 in padding: the inverse of how positions of x lie in the map that is convolved. */
struct Axis {
  int64_t size, grow, spread;
  int64_t at(int64_t position) const {
    if (position < 0 || position >= size * grow * spread || position % spread != 0) return -1;
    return position / grow / spread;
  }
};

/** Sum over taps for output pixel (b,g,p,q) and channel k. */
float convolve(const ConvArgs& a, int64_t b, int64_t g, int64_t p, int64_t q, int64_t k) {
  const int64_t F = a.x.dims[1], past = a.past.present() ? a.past.dims[1] : 0;
  const int64_t T = a.weight.dims[2], R = a.weight.dims[3], S = a.weight.dims[4];
  const int64_t channels = a.x.dims[4] / a.groups, firstChannel = k / (a.y.dims[4] / a.groups) * channels;
  const int64_t grow = a.upsample ? 2 : 1, spread = a.transposed ? 2 : 1;
  const Axis rows{a.x.dims[2], grow, spread}, columns{a.x.dims[3], grow, spread};
  // A transposed filter runs backwards over pixels that are spread, with the rest of its size as padding.
  const int64_t stepH = a.transposed ? 1 : a.stride[1], stepW = a.transposed ? 1 : a.stride[2];
  const int64_t top = a.transposed ? R - 1 - a.padding[2] : a.padding[2], left = a.transposed ? S - 1 - a.padding[4] : a.padding[4];
  float sum = 0;
  for (int64_t t = 0; t < T; ++t) {
    int64_t f = g * a.stride[0] + t - a.padding[0] - past;
    if (a.framePadding == FramePadding::replicate) f = std::clamp<int64_t>(f, -past, F - 1);
    if (f < -past || f >= F) continue;
    for (int64_t r = 0; r < R; ++r) {
      const int64_t h = rows.at(p * stepH + r - top);
      if (h < 0) continue;
      for (int64_t s = 0; s < S; ++s) {
        const int64_t w = columns.at(q * stepW + s - left);
        if (w < 0) continue;
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t filter =
              a.transposed ? ((c * a.y.dims[4] + k) * R + R - 1 - r) * S + S - 1 - s : (((k * channels + c) * T + t) * R + r) * S + s;
          sum += element(a, b, f, h, w, firstChannel + c) * load_element(a.weight.data, a.weight.dtype, filter);
        }
      }
    }
  }
  return sum;
}

}  // namespace

void conv_reference(const ConvArgs& a, ThreadPool& pool) {
  const int64_t G = a.y.dims[1], P = a.y.dims[2], Q = a.y.dims[3], K = a.y.dims[4];
  pool.parallel_for(a.y.dims[0] * G * P, [&](int64_t line, int) {
    const int64_t b = line / (G * P), g = line / P % G, p = line % P;
    for (int64_t q = 0; q < Q; ++q)
      for (int64_t k = 0; k < K; ++k) {
        float v = convolve(a, b, g, p, q, k) + frame_bias(a.frameBias, b, g, k);
        if (a.bias.present()) v += load_element(a.bias.data, a.bias.dtype, k);
        finish(a, line * Q + q, k, activate(a.act, v));
      }
  });
  if (a.moments.present()) measure_channels(a.y, a.moments, pool);
}

}  // namespace vd::cpu
