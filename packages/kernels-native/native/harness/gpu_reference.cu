// Plain references for the GPU bench: every checked output element in float64, straight from the op's formula; and
// the fill and scan kernels of the harness. Nothing here ships.
#include <stdint.h>

#include "../../device/kernel.cuh"
#include "../../device/vec.cuh"
#include "gpu_reference.h"

using namespace vd;
using namespace vd::device;

namespace {

__device__ bool present(const Tensor& t) { return t.data != nullptr; }
__device__ int64_t channels(const Tensor& t) { return t.dims[t.rank - 1]; }
__device__ int64_t count(const Tensor& t) {
  int64_t n = 1;
  for (int i = 0; i < t.rank; ++i) n *= t.dims[i];
  return n;
}
__device__ double at(const Tensor& t, int64_t pixel, int64_t c) {
  if (t.dtype == DType::u8) return static_cast<const uint8_t*>(t.data)[pixel * t.pitch + c];
  return load_any(t.data, static_cast<int>(t.dtype), pixel * t.pitch + c);
}
__device__ uint32_t hash(uint32_t x) {
  x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
  return x;
}
__device__ double act(double x, int kind) {
  if (kind == 1) return x / (1 + exp(-x));
  if (kind == 2) return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
  if (kind == 3) return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  if (kind == 4) return x / (1 + exp(-1.702 * x));
  return x;
}
/** Index of the i-th checked element of `count`: all of them, or a spread of `samples`. */
__device__ int64_t sample(int64_t i, int64_t samples, int64_t total) {
  return samples == total ? i : static_cast<int64_t>((static_cast<unsigned __int128>(i) * total + total / 2) / samples);
}
__device__ double frame_bias(const Tensor& t, int64_t b, int64_t f, int64_t c) {
  if (!present(t)) return 0;
  return at(t, (t.dims[0] > 1 ? b : 0) * t.dims[1] + (t.dims[1] > 1 ? f : 0), c);
}
template <class Args> __device__ double tail(const Args& a, double v, int64_t pixel, int64_t c) {
  v *= a.outScale;
  if (present(a.residual)) v += a.residualScale * at(a.residual, pixel, c);
  if (present(a.residual2)) v += a.residual2Scale * at(a.residual2, pixel, c);
  return v;
}
__device__ double warp_sum(double v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
/** Calls body(i, element) for each sample, one warp each; lane 0 writes. */
template <class Body> __device__ void each_sample(const ReferenceParams& p, int64_t total, Body body) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * blockDim.x / 32;
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32; i < p.samples; i += warps) {
    const double v = body(sample(i, p.samples, total));
    if ((threadIdx.x & 31) == 0) p.out[i] = v;
  }
}

}  // namespace

extern "C" __global__ void reference_conv(const __grid_constant__ ReferenceParams p) {
  const ConvArgs& a = p.conv;
  each_sample(p, count(a.y), [&](int64_t e) {
    const int64_t K = channels(a.y), k = e % K, pixel = e / K;
    int64_t r = pixel;
    const int64_t w = r % a.y.dims[3]; r /= a.y.dims[3];
    const int64_t h = r % a.y.dims[2]; r /= a.y.dims[2];
    const int64_t f = r % a.y.dims[1], b = r / a.y.dims[1];
    const int64_t C = channels(a.x), kF = a.weight.dims[2], kH = a.weight.dims[3], kW = a.weight.dims[4];
    const int up = a.upsample ? 2 : 1;
    double sum = 0;
    for (int64_t t = 0; t < kF * kH * kW; ++t) {
      const int64_t sw = w * a.stride[2] - a.padding[4] + t % kW, sh = h * a.stride[1] - a.padding[2] + t / kW % kH;
      const int64_t sf = f * a.stride[0] - a.padding[0] + t / (kW * kH);
      if (sw < 0 || sh < 0 || sf < 0 || sw >= a.x.dims[3] * up || sh >= a.x.dims[2] * up || sf >= a.x.dims[1]) continue;
      const int64_t src = ((b * a.x.dims[1] + sf) * a.x.dims[2] + sh / up) * a.x.dims[3] + sw / up;
      for (int64_t c = threadIdx.x & 31; c < C; c += 32)
        sum += at(a.x, src, c) * load_any(a.weight.data, static_cast<int>(a.weight.dtype), (k * C + c) * kF * kH * kW + t);
    }
    sum = warp_sum(sum);
    if (present(a.bias)) sum += at(a.bias, 0, k);
    sum += frame_bias(a.frameBias, b, f, k);
    return tail(a, act(sum, static_cast<int>(a.act)), pixel, k);
  });
}

extern "C" __global__ void reference_linear(const __grid_constant__ ReferenceParams p) {
  const LinearArgs& a = p.linear;
  each_sample(p, count(a.y), [&](int64_t e) {
    const int64_t K = channels(a.y), k = e % K, pixel = e / K, C = channels(a.x), C2 = present(a.x2) ? channels(a.x2) : 0;
    const int64_t frame = pixel / a.y.dims[2], b = frame / a.y.dims[1], f = frame % a.y.dims[1];
    const auto row = [&](int64_t n) {
      double sum = 0;
      for (int64_t c = threadIdx.x & 31; c < C + C2; c += 32)
        sum += (c < C ? at(a.x, pixel, c) : at(a.x2, pixel, c - C)) * at(a.weight, n, c);
      sum = warp_sum(sum);
      if (present(a.bias)) sum += at(a.bias, 0, n);
      return sum + frame_bias(a.frameBias, b, f, n);
    };
    const double v = a.act == Activation::geglu ? row(k) * act(row(K + k), 2) : act(row(k), static_cast<int>(a.act));
    return tail(a, v, pixel, k);
  });
}

/** One warp per checked element; lanes split the keys; two passes, the first for the maximum. */
extern "C" __global__ void reference_attention(const __grid_constant__ ReferenceParams p) {
  const AttentionArgs& a = p.attention;
  each_sample(p, count(a.y), [&](int64_t e) {
    const int64_t HD = channels(a.y), D = HD / a.heads, c = e % HD, head = c / D, token = e / HD;
    const int64_t F = a.y.dims[1], S = a.y.dims[2], s = token % S, f = token / S % F, b = token / (S * F);
    const bool time = a.axis == AttentionAxis::time;
    int64_t L = time ? a.k.dims[1] : a.k.dims[2], first = 0, row = time ? f : s;
    int64_t keyBase = time ? b * L * S + s : (b * a.k.dims[1] + (a.k.dims[1] > 1 ? f : 0)) * L;
    const int64_t keyStep = time ? S : 1;
    if (present(a.cuQ)) {
      const int* q = static_cast<const int*>(a.cuQ.data);
      int64_t i = 0;
      while (i + 1 < a.cuQ.dims[0] - 1 && q[i + 1] <= s) ++i;
      const bool inside = s >= q[i] && s < q[i + 1];
      first = static_cast<const int*>(a.cuK.data)[i];
      L = inside ? static_cast<const int*>(a.cuK.data)[i + 1] - first : 0;
      row = s - q[i];
    }
    double best = -INFINITY;
    double sum = 0, out = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = threadIdx.x & 31; j < L; j += 32) {
        if (a.causal && j > row) continue;
        const int64_t key = keyBase + (first + j) * keyStep;
        double x = 0;
        for (int64_t d = 0; d < D; ++d) x += at(a.q, token, head * D + d) * at(a.k, key, head * D + d);
        x *= a.scale;
        if (present(a.mask)) {
          const int64_t m = ((a.mask.dims[0] > 1 ? b : 0) * a.mask.dims[1] + (a.mask.dims[1] > 1 ? head : 0)) * S + s;
          const double v = at(a.mask, m, j);
          if (a.mask.dtype == DType::u8) { if (v == 0) continue; } else x += v;
        }
        if (pass == 0) best = fmax(best, x);
        else if (best > -INFINITY) {
          const double w = exp(x - best);
          sum += w;
          out += w * at(a.v, key, c);
        }
      }
      if (pass == 0)
        for (int o = 16; o > 0; o >>= 1) best = fmax(best, __shfl_xor_sync(0xffffffffu, best, o));
    }
    sum = warp_sum(sum);
    out = warp_sum(out);
    return sum > 0 ? out / sum : 0.0;
  });
}

/** Mean and 1/sqrt(var + eps) of one group by one warp, in float64. */
__device__ void group_moments(const Tensor& x, const Tensor& x2, int64_t groups, bool joinFrames, float eps, int64_t b, int64_t f,
                              int64_t g, double* mean, double* rstd) {
  const int64_t C1 = channels(x), C = C1 + (present(x2) ? channels(x2) : 0), size = C / groups;
  const int64_t frame = x.dims[2] * x.dims[3], pixels = joinFrames ? frame * x.dims[1] : frame;
  const int64_t base = joinFrames ? b * pixels : (b * x.dims[1] + f) * frame;
  double s = 0, ss = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = threadIdx.x & 31; i < pixels * size; i += 32) {
      const int64_t pixel = base + i / size, c = g * size + i % size;
      const double v = c < C1 ? at(x, pixel, c) : at(x2, pixel, c - C1);
      if (pass == 0) s += v; else ss += (v - *mean) * (v - *mean);
    }
    if (pass == 0) *mean = warp_sum(s) / (pixels * size);
  }
  *rstd = 1 / sqrt(warp_sum(ss) / (pixels * size) + eps);
}

extern "C" __global__ void reference_group_norm_stats(const __grid_constant__ ReferenceParams p) {
  const GroupNormStatsArgs& a = p.groupNormStats;
  each_sample(p, count(a.stats), [&](int64_t e) {
    const int64_t g = e / 2 % a.groups, frame = e / 2 / a.groups, frames = a.stats.dims[1];
    double mean, rstd;
    group_moments(a.x, a.x2, a.groups, a.joinFrames, a.eps, frame / frames, frame % frames, g, &mean, &rstd);
    return e & 1 ? rstd : mean;
  });
}

extern "C" __global__ void reference_group_norm(const __grid_constant__ ReferenceParams p) {
  const GroupNormArgs& a = p.groupNorm;
  each_sample(p, count(a.y), [&](int64_t e) {
    const int64_t C = channels(a.y), C1 = channels(a.x), c = e % C, pixel = e / C, g = c / (C / a.groups);
    const int64_t frame = pixel / (a.x.dims[2] * a.x.dims[3]), b = frame / a.x.dims[1], f = frame % a.x.dims[1];
    double mean, rstd;
    if (present(a.stats)) {
      const int64_t row = ((a.stats.dims[1] > 1 ? frame : b) * a.groups + g) * 2;
      mean = static_cast<const float*>(a.stats.data)[row];
      rstd = static_cast<const float*>(a.stats.data)[row + 1];
    } else {
      group_moments(a.x, a.x2, a.groups, a.joinFrames, a.eps, b, f, g, &mean, &rstd);
    }
    const double v = c < C1 ? at(a.x, pixel, c) : at(a.x2, pixel, c - C1);
    return act((v - mean) * rstd * at(a.weight, 0, c) + at(a.bias, 0, c), static_cast<int>(a.act));
  });
}

extern "C" __global__ void reference_layer_norm(const __grid_constant__ ReferenceParams p) {
  const LayerNormArgs& a = p.layerNorm;
  each_sample(p, count(a.y), [&](int64_t e) {
    const int64_t C = channels(a.y), c = e % C, pixel = e / C;
    double s = 0, ss = 0;
    for (int64_t i = threadIdx.x & 31; i < C; i += 32) s += at(a.x, pixel, i);
    const double mean = warp_sum(s) / C;
    for (int64_t i = threadIdx.x & 31; i < C; i += 32) ss += (at(a.x, pixel, i) - mean) * (at(a.x, pixel, i) - mean);
    return (at(a.x, pixel, c) - mean) / sqrt(warp_sum(ss) / C + a.eps) * at(a.weight, 0, c) + at(a.bias, 0, c);
  });
}

extern "C" __global__ void reference_pointwise(const __grid_constant__ ReferenceParams p) {
  const PointwiseArgs& a = p.pointwise;
  each_sample(p, count(a.y), [&](int64_t e) {
    const int64_t C = channels(a.y), c = e % C, pixel = e / C, frame = pixel / a.y.dims[2];
    double v = a.aScale * at(a.a, pixel, c);
    if (present(a.b)) v += a.bScale * at(a.b, pixel, c) * (present(a.c) ? at(a.c, pixel, c) : 1.0);
    v += frame_bias(a.frameBias, frame / a.y.dims[1], frame % a.y.dims[1], c);
    return act(v, static_cast<int>(a.act));
  });
}

/** Gathers the checked elements of y as float64, in the order the references write. */
extern "C" __global__ void harness_gather(const __grid_constant__ ReferenceParams p) {
  const Tensor& y = p.y;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < p.samples; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t e = sample(i, p.samples, count(y));
    p.out[i] = at(y, e / channels(y), e % channels(y));
  }
}

/** Counts elements of y that are not finite. */
extern "C" __global__ void harness_count_bad(const __grid_constant__ ReferenceParams p) {
  const Tensor& y = p.y;
  unsigned long long bad = 0;
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < count(y); e += static_cast<int64_t>(gridDim.x) * blockDim.x)
    bad += !isfinite(at(y, e / channels(y), e % channels(y)));
  if (bad) atomicAdd(reinterpret_cast<unsigned long long*>(p.out), bad);
}

/** Fills memory with mean + scale · uniform(-1.73, 1.73): unit variance times scale². */
extern "C" __global__ void harness_fill(const __grid_constant__ FillParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < p.count; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const uint32_t h = hash(static_cast<uint32_t>(i) ^ hash(p.seed + static_cast<uint32_t>(i >> 32)));
    if (p.type == static_cast<int>(DType::u8)) { static_cast<uint8_t*>(p.data)[i] = h >> 31; continue; }
    store_any(p.data, p.type, i, p.mean + p.scale * 1.7320508f * (h * 4.6566129e-10f - 1.0f));
  }
}
