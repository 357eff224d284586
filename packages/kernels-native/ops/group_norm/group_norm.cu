// group_norm: y = act((x - mean) · rstd · weight + bias) per group of channels of [x | x2].
//
// Plan: statistics in two launches, the second also making each channel's scale and shift (device/norm_stats.cuh), then
// one pass: a thread keeps the scale and shift of eight channels in registers and walks down pixels. Frames run backwards,
// so that what the statistics read last is still in L2.
// What lost: one persistent launch, statistics of a frame and soon after them its apply: most of the second read came from memory all the
// same, and blocks waited for each other. Figures of every version: docs/kernels/group_norm.md.
// Symbols: group_norm_partial_<dtype>[_scalar], group_norm_finish, group_norm_apply_<dtype>[_scalar].
#include "../../device/activation.cuh"
#include "../../device/norm_stats.cuh"

using namespace vd::device;

namespace {

/** Block (chunk, frame). */
template <class T, int kWidth> __device__ __forceinline__ void norm_apply(const NormApplyParams& p) {
  const int channels = p.source.channels + p.source.channels2, vectors = channels / kWidth;
  const int frame = p.source.frames - 1 - blockIdx.y, chunk = p.numChunks - 1 - blockIdx.x;
  const int64_t base = static_cast<int64_t>(frame) * p.source.pixels + static_cast<int64_t>(chunk) * p.chunkPixels;
  const int end = min(p.chunkPixels, p.source.pixels - chunk * p.chunkPixels);
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
    T* y = static_cast<T*>(p.y) + base * p.yPitch + c;
    walk_column<T, kWidth>(source_column<T>(p.source, base, c), item / vectors, end, p.lanes, [&](float (&v)[kWidth], int pixel) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        v[i] = fmaf(v[i], scale[i], shift[i]);
        if constexpr (kWithRest) v[i] += rest[i];
      }
      activate(v, p.act);
      if constexpr (kWidth == 8) store8(y + pixel * p.yPitch, v);
      else y[pixel * p.yPitch] = from_float<T>(v[0]);
    });
  }
}

}  // namespace

#define VD_PARTIAL(type, name)                                                          \
  VD_KERNEL(group_norm_partial_##name, NormPartialParams, 320, 2, norm_partial<type, 8>)      \
  VD_KERNEL(group_norm_partial_##name##_scalar, NormPartialParams, 320, 2, norm_partial<type, 1>)
VD_PARTIAL(float, f32)
VD_PARTIAL(__half, f16)
VD_PARTIAL(__nv_bfloat16, bf16)
VD_KERNEL(group_norm_finish, NormFinishParams, 128, 1, norm_finish)
#define VD_APPLY(type, name)                                                            \
  VD_KERNEL(group_norm_apply_##name, NormApplyParams, 320, 2, norm_apply<type, 8>)     \
  VD_KERNEL(group_norm_apply_##name##_scalar, NormApplyParams, 320, 2, norm_apply<type, 1>)
VD_APPLY(float, f32)
VD_APPLY(__half, f16)
VD_APPLY(__nv_bfloat16, bf16)
