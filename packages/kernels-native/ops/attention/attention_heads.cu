// Before attention: heads of queries and keys divided by their root mean square and weighted, and pairs of their channels
// rotated, in float32, from any rows into packed ones of the same type. A warp to a head of a row; both sides by one launch.
// Symbols: attention_heads_<dtype>.
#include "../../device/kernel.cuh"
#include "../../device/vec.cuh"
#include "attention_params.h"

using namespace vd::device;

namespace {

/** The factor of a head's channels, 1 without a norm. */
template <class T> __device__ __forceinline__ float norm_factor(const AttentionHeadsParams& p, const AttentionHeadsSide& s, const T* x) {
  if (!s.norm) return 1.0f;
  float squares = 0.0f;
  for (int c = threadIdx.x & 31; c < p.dim; c += 32) {
    const float value = to_float(x[c]);
    squares = fmaf(value, value, squares);
  }
  for (int offset = 16; offset > 0; offset >>= 1) squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  return 1.0f / sqrtf(squares / static_cast<float>(p.dim) + p.eps);
}

template <class T> __device__ __forceinline__ void attention_heads(const AttentionHeadsParams& p) {
  const AttentionHeadsSide& s = p.sides[blockIdx.y];
  const int64_t unit = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (unit >= s.rows * p.heads) return;
  const int64_t row = unit / p.heads;
  const int head = static_cast<int>(unit % p.heads);
  const T* x = static_cast<const T*>(s.x) + row * s.pitch + static_cast<int64_t>(head) * p.dim;
  T* out = static_cast<T*>(s.out) + unit * p.dim;
  const float factor = norm_factor(p, s, x);
  const auto value = [&](int c) { return to_float(x[c]) * factor * (s.norm ? load_any(s.norm, s.normType, c) : 1.0f); };
  const float* angles = s.rotary ? s.rotary + row / s.placeStep % s.numPlaces * s.rotaryPitch : nullptr;
  const int numRotated = angles ? 2 * s.numPairs : 0;
  for (int c = threadIdx.x & 31; c < p.dim; c += 32) {
    const float own = value(c);
    if (c >= numRotated) {
      out[c] = from_float<T>(own);
      continue;
    }
    const int pair = p.adjacent ? c / 2 : c % s.numPairs;
    const bool isImaginary = p.adjacent ? c % 2 == 1 : c >= s.numPairs;
    const int distance = p.adjacent ? 1 : s.numPairs;
    const float other = value(isImaginary ? c - distance : c + distance);
    const float sine = angles[2 * pair + 1];
    out[c] = from_float<T>(own * angles[2 * pair] + other * (isImaginary ? sine : -sine));
  }
}

}  // namespace

VD_KERNEL(attention_heads_f32, AttentionHeadsParams, 256, 1, attention_heads<float>)
VD_KERNEL(attention_heads_f16, AttentionHeadsParams, 256, 1, attention_heads<__half>)
VD_KERNEL(attention_heads_bf16, AttentionHeadsParams, 256, 1, attention_heads<__nv_bfloat16>)
