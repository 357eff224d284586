// The references, one per op in ops/<op>/<op>.cpu.cc, and what they share: plain loops that read like the formula.
#pragma once
#include <cmath>

#include "../core/float_element.h"
#include "../core/thread_pool.h"
#include "../generated/op_args.h"

namespace vd::cpu {

#define VD_DECLARE(id, Args) void id##_reference(const Args& args, ThreadPool& pool);
VD_FOR_EACH_OP(VD_DECLARE)
#undef VD_DECLARE

/** Channel `c` of pixel `i`. */
inline float at(const Tensor& t, int64_t i, int64_t c) { return load_element(t.data, t.dtype, i * t.pitch + c); }
inline void put(const Tensor& t, int64_t i, int64_t c, float value) { store_element(t.data, t.dtype, i * t.pitch + c, value); }

inline float activate(Activation act, float v) {
  switch (act) {
    case Activation::silu: return v / (1.0f + std::exp(-v));
    case Activation::gelu: return 0.5f * v * (1.0f + std::erf(v * 0.70710678118654752f));
    case Activation::gelu_tanh: return 0.5f * v * (1.0f + std::tanh(0.79788456080286536f * (v + 0.044715f * v * v * v)));
    case Activation::quick_gelu: return v / (1.0f + std::exp(-1.702f * v));
    case Activation::relu: return v < 0.0f ? 0.0f : v;
    default: return v;
  }
}

/** frameBias [1|B,1|G,K] at clip b, frame g; 0 if absent. */
inline float frame_bias(const Tensor& t, int64_t b, int64_t g, int64_t k) {
  if (!t.present()) return 0;
  const int64_t clip = t.dims[0] == 1 ? 0 : b;
  const int64_t frame = t.dims[1] == 1 ? 0 : g;
  return at(t, clip * t.dims[1] + frame, k);
}

/** Pixel `i` of a tensor [B, F, S, ·] in an operand whose first three sizes are those or 1. */
inline int64_t broadcast_pixel(const Tensor& operand, const Tensor& full, int64_t i) {
  const int64_t S = full.dims[2], F = full.dims[1];
  const int64_t index[3] = {i / (S * F), i / S % F, i % S};
  int64_t pixel = 0;
  for (int d = 0; d < 3; ++d) pixel = pixel * operand.dims[d] + (operand.dims[d] == 1 ? 0 : index[d]);
  return pixel;
}

/** Scale and shift of adaptive norms: channel `c` of token `i` of x, normalised to `v`. */
template <class Args> float modulated(const Args& a, int64_t i, int64_t c, float v) {
  if (a.scale.present()) v *= 1.0f + at(a.scale, broadcast_pixel(a.scale, a.x, i), c);
  return a.shift.present() ? v + at(a.shift, broadcast_pixel(a.shift, a.x, i), c) : v;
}

/** Mean and variance of every channel of every frame of y: what convolutions leave for the norms behind them. */
inline void measure_channels(const Tensor& y, const Tensor& moments, ThreadPool& pool) {
  const int64_t pixels = y.dims[2] * y.dims[3], K = y.dims[4];
  pool.parallel_for(y.dims[0] * y.dims[1] * K, [&](int64_t i, int) {
    const int64_t first = i / K * pixels, k = i % K;
    double sum = 0, squares = 0;
    for (int64_t p = first; p < first + pixels; ++p) sum += at(y, p, k);
    const double mean = sum / static_cast<double>(pixels);
    for (int64_t p = first; p < first + pixels; ++p) squares += (at(y, p, k) - mean) * (at(y, p, k) - mean);
    put(moments, i, 0, static_cast<float>(mean));
    put(moments, i, 1, static_cast<float>(squares / static_cast<double>(pixels)));
  });
}

/** The last part of conv and linear: scale, then residuals; `i` is the output pixel. */
template <class Args> float finished(const Args& a, int64_t i, int64_t k, float activated) {
  float v = a.outScale * activated;
  if (a.residual.present()) v += a.residualScale * at(a.residual, i, k);
  if (a.residual2.present()) v += a.residual2Scale * at(a.residual2, i, k);
  return v;
}
template <class Args> void finish(const Args& a, int64_t i, int64_t k, float activated) { put(a.y, i, k, finished(a, i, k, activated)); }

}  // namespace vd::cpu
