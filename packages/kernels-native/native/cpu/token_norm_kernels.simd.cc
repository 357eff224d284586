// Norms of one token over its channels.
#include "token_norm_kernels.h"

#include "simd/load.h"

namespace vd::cpu::VD_ISA {

/** What follows the normalisation, for the `n` channels from c. kLearned: weight and bias and nothing else. */
template <bool kLearned> static inline Vec finish(Vec v, const TokenAffine& a, int64_t c, int64_t n) {
  if constexpr (kLearned) return Vec::fma(v, load_n(a.weight + c, n), load_n(a.bias + c, n));
  if (a.weight) v = v * load_n(a.weight + c, n);
  if (a.bias) v = v + load_n(a.bias + c, n);
  if (a.scale) v = Vec::fma(v, load_n(a.scale + c, n), v);
  if (a.shift) v = v + load_n(a.shift + c, n);
  return v;
}

template <bool kLearned> static void layer_norm_of(const float* x, float* y, int64_t channels, const TokenAffine& affine, float eps) {
  const float count = static_cast<float>(channels);
  Vec total = Vec::zero();
  for (int64_t c = 0; c < channels; c += Vec::kWidth) {
    __builtin_prefetch(x + c + kAhead);
    total = total + load_n(x + c, channels - c);
  }
  const Vec center = Vec::all(total.sum() / count);
  // What rounding left in the mean shows as the mean of the differences, and is taken out as well.
  Vec rest = Vec::zero(), square = Vec::zero();
  int64_t c = 0;
  for (; c + Vec::kWidth <= channels; c += Vec::kWidth) {
    const Vec d = Vec::load(x + c) - center;
    rest = rest + d;
    square = Vec::fma(d, d, square);
  }
  float restSum = rest.sum(), squareSum = square.sum();
  for (; c < channels; ++c) {
    const float d = x[c] - total.sum() / count;
    restSum += d;
    squareSum += d * d;
  }
  const float correction = restSum / count;
  const float variance = squareSum / count - correction * correction;
  const Vec shift = Vec::all(correction);
  const Vec rstd = Vec::all(1.0f / __builtin_sqrtf((variance > 0 ? variance : 0) + eps));
  for (c = 0; c < channels; c += Vec::kWidth) {
    const int64_t n = channels - c;
    const Vec normed = (load_n(x + c, n) - center - shift) * rstd;
    store_n(finish<kLearned>(normed, affine, c, n), y + c, n);
  }
}

/** The same with learned weights over as many channels as stay in registers. */
template <int VECS> static void layer_norm_held(const float* x, float* y, const TokenAffine& affine, float eps) {
  constexpr float kCount = VECS * Vec::kWidth;
  Vec v[VECS], total = Vec::zero();
#pragma GCC unroll 8
  for (int i = 0; i < VECS; ++i) {
    __builtin_prefetch(x + i * Vec::kWidth + kAhead);
    v[i] = Vec::load(x + i * Vec::kWidth);
    total = total + v[i];
  }
  const Vec center = Vec::all(total.sum() / kCount);
  Vec rest = Vec::zero(), square = Vec::zero();
#pragma GCC unroll 8
  for (int i = 0; i < VECS; ++i) {
    v[i] = v[i] - center;
    rest = rest + v[i];
    square = Vec::fma(v[i], v[i], square);
  }
  const float correction = rest.sum() / kCount;
  const float variance = square.sum() / kCount - correction * correction;
  const Vec shift = Vec::all(correction);
  const Vec rstd = Vec::all(1.0f / __builtin_sqrtf((variance > 0 ? variance : 0) + eps));
#pragma GCC unroll 8
  for (int i = 0; i < VECS; ++i) {
    const int64_t c = i * Vec::kWidth;
    finish<true>((v[i] - shift) * rstd, affine, c, Vec::kWidth).store(y + c);
  }
}

static void layer_norm(const float* x, float* y, int64_t channels, const TokenAffine& a, float eps) {
  if (a.weight && a.bias && !a.scale && !a.shift) {
    if (channels == 4 * Vec::kWidth) return layer_norm_held<4>(x, y, a, eps);
    if (channels == 8 * Vec::kWidth) return layer_norm_held<8>(x, y, a, eps);
    return layer_norm_of<true>(x, y, channels, a, eps);
  }
  layer_norm_of<false>(x, y, channels, a, eps);
}

static void rms_norm(const float* x, float* y, int64_t channels, const TokenAffine& affine, float eps) {
  Vec square = Vec::zero();
  for (int64_t c = 0; c < channels; c += Vec::kWidth) {
    __builtin_prefetch(x + c + kAhead);
    const Vec v = load_n(x + c, channels - c);
    square = Vec::fma(v, v, square);
  }
  const Vec factor = Vec::all(1.0f / __builtin_sqrtf(square.sum() / static_cast<float>(channels) + eps));
  for (int64_t c = 0; c < channels; c += Vec::kWidth) {
    const int64_t n = channels - c;
    store_n(finish<false>(load_n(x + c, n) * factor, affine, c, n), y + c, n);
  }
}

const TokenNormKernels token_norm_kernels = {.layer_norm = layer_norm, .rms_norm = rms_norm};

}  // namespace vd::cpu::VD_ISA
