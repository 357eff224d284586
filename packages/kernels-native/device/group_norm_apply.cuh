// The last pass of a norm of channel groups: y = act(x · scale + shift) per channel, in the type of x or in 8-bit codes.
//
// Plan: a thread keeps the scale and shift of eight channels in registers and walks down pixels. Frames run backwards, so that
// what the statistics read last is still in L2.
#pragma once
#include <type_traits>

#include "activation.cuh"
#include "norm_stats.cuh"
#include "quantized.cuh"

namespace vd::device {

/** Normalises, activates and stores the pixels of a chunk. Block (chunk, frame). kCodes: as 8-bit codes with a known scale. */
template <class T, int kWidth, bool kCodes> __device__ __forceinline__ void norm_apply(const NormApplyParams& p) {
  const int channels = p.source.channels + p.source.channels2, vectors = channels / kWidth;
  const int frame = p.source.frames - 1 - blockIdx.y, chunk = p.numChunks - 1 - blockIdx.x;
  const int64_t base = static_cast<int64_t>(frame) * p.source.pixels + static_cast<int64_t>(chunk) * p.chunkPixels;
  const int end = min(p.chunkPixels, p.source.pixels - chunk * p.chunkPixels);
  const float inverse = kCodes ? __frcp_rn(*p.yScale) : 0.0f;
  for (int item = threadIdx.x; item < vectors * p.lanes; item += blockDim.x) {
    const int c = item % vectors * kWidth;
    constexpr bool kWithRest = sizeof(T) == 4;
    float scale[kWidth], shift[kWidth], rest[kWithRest ? kWidth : 1];
    const float2* affine = static_cast<const float2*>(p.affine) + static_cast<int64_t>(frame / p.framesPerRow) * channels + c;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float2 v = __ldg(affine + i);
      scale[i] = v.x;
      shift[i] = v.y;
      if constexpr (kWithRest) rest[i] = __ldg(p.shiftRest + (affine - static_cast<const float2*>(p.affine)) + i);
    }
    using Y = std::conditional_t<kCodes, uint8_t, T>;
    Y* y = static_cast<Y*>(p.y) + base * p.yPitch + c;
    walk_column<T, kWidth>(source_column<T>(p.source, base, c), item / vectors, end, p.lanes, [&](float (&v)[kWidth], int pixel) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        v[i] = fmaf(v[i], scale[i], shift[i]);
        if constexpr (kWithRest) v[i] += rest[i];
      }
      activate(v, p.act);
      if constexpr (kCodes) store_codes<kWidth>(y + pixel * p.yPitch, v, inverse, p.isInt8);
      else if constexpr (kWidth == 8) store8(y + pixel * p.yPitch, v);
      else y[pixel * p.yPitch] = from_float<T>(v[0]);
    });
  }
}

}  // namespace vd::device

/** The kernels of the last pass op_apply_<dtype>[_scalar]; the file says `using namespace vd::device` before. */
#define VD_NORM_APPLY_OF(op, type, name, codes)                                     \
  VD_KERNEL(op##_apply_##name, NormApplyParams, 320, 2, norm_apply<type, 8, codes>) \
  VD_KERNEL(op##_apply_##name##_scalar, NormApplyParams, 320, 2, norm_apply<type, 1, codes>)
#define VD_NORM_APPLY(op, codes)           \
  VD_NORM_APPLY_OF(op, float, f32, codes)  \
  VD_NORM_APPLY_OF(op, __half, f16, codes) \
  VD_NORM_APPLY_OF(op, __nv_bfloat16, bf16, codes)
