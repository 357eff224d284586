// The last pass of a norm of channel groups: y = act(x · scale + shift) per channel, in the type of x or in 8-bit codes.
//
// Plan: a thread keeps the scale and shift of eight channels in registers and walks down pixels, 64 bytes of them at a time; it asks for
// the first before it asks for scales. What hides one block's waiting is the two beside it, so registers are few: no round is loaded ahead.
// Frames run backwards, so that what the statistics read last is still in L2.
#pragma once
#include <type_traits>

#include "norm_activation.cuh"
#include "norm_stats.cuh"
#include "quantized.cuh"

namespace vd::device {

/** Stores numbers in the type of x. */
template <class T> struct NormNumbers {
  using Y = T;
  template <int kWidth> __device__ __forceinline__ void operator()(T* y, float (&v)[kWidth]) const {
    if constexpr (kWidth == 8) store8(y, v);
    else *y = from_float<T>(v[0]);
  }
};
/** Stores 8-bit codes with a known scale. */
template <class Q> struct NormCodes {
  using Y = uint8_t;
  float inverse;
  template <int kWidth> __device__ __forceinline__ void operator()(uint8_t* y, float (&v)[kWidth]) const {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) v[i] = __fmul_rn(v[i], inverse);
    store_codes_of<Q, kWidth>(y, v);
  }
};

/** Scale and shift of kWidth channels in front of an activation. */
template <class T, int kWidth, class Activate> struct NormAffine {
  static constexpr bool kWithRest = sizeof(T) == 4;
  float scale[kWidth], shift[kWidth], rest[kWithRest ? kWidth : 1];

  __device__ __forceinline__ void load(const NormApplyParams& p, int64_t first) {
    const float2* affine = static_cast<const float2*>(p.affine) + first;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float2 v = __ldg(affine + i);
      scale[i] = Activate::kFactor * v.x;
      shift[i] = Activate::kFactor * v.y;
      if constexpr (kWithRest) rest[i] = Activate::kFactor * __ldg(p.shiftRest + first + i);
    }
  }
  __device__ __forceinline__ void apply(float (&v)[kWidth]) const {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      v[i] = fmaf(v[i], scale[i], shift[i]);
      if constexpr (kWithRest) v[i] += rest[i];
    }
  }
};

/** kWidth elements as they lie in memory. */
template <class T, int kWidth> struct NormRaw {
  Raw8<T> raw;
  __device__ __forceinline__ void load(const T* x) { load_raw8(x, raw); }
  __device__ __forceinline__ void unpack(float (&v)[kWidth]) const { unpack_raw8<T>(raw, v); }
};
template <class T> struct NormRaw<T, 1> {
  T raw;
  __device__ __forceinline__ void load(const T* x) { raw = *x; }
  __device__ __forceinline__ void unpack(float (&v)[1]) const { v[0] = to_float(raw); }
};

/** Normalises, activates and stores the pixels of a chunk. Block (chunk, frame). */
template <class T, int kWidth, class Activate, class Store>
__device__ __forceinline__ void norm_apply_chunk(const NormApplyParams& p, const Activate& activation, const Store& store) {
  constexpr int kRound = kWidth == 8 ? 8 / sizeof(T) : 4;  // pixels of a thread that are under way
  const int channels = p.source.channels + p.source.channels2, vectors = channels / kWidth;
  const int frame = p.source.frames - 1 - blockIdx.y, chunk = p.numChunks - 1 - blockIdx.x;
  const int64_t base = static_cast<int64_t>(frame) * p.source.pixels + static_cast<int64_t>(chunk) * p.chunkPixels;
  const int end = min(p.chunkPixels, p.source.pixels - chunk * p.chunkPixels);
  for (int item = threadIdx.x; item < vectors * p.lanes; item += blockDim.x) {
    const int c = item % vectors * kWidth;
    int pixel = item / vectors;
    const SourceColumn<T> column = source_column<T>(p.source, base + pixel, c);
    const T* x = column.data;
    const int64_t step = p.lanes * column.pitch;
    NormRaw<T, kWidth> raw[kRound];
    const auto load = [&] {
#pragma unroll
      for (int u = 0; u < kRound; ++u) {
        if (pixel + u * p.lanes < end) raw[u].load(x);
        x += step;
      }
    };
    load();
    NormAffine<T, kWidth, Activate> affine;
    affine.load(p, static_cast<int64_t>(frame / p.framesPerRow) * channels + c);
    using Y = typename Store::Y;
    Y* y = static_cast<Y*>(p.y) + (base + pixel) * p.yPitch + c;
    const int64_t yStep = p.lanes * p.yPitch;
#pragma unroll 1
    while (pixel < end) {
#pragma unroll
      for (int u = 0; u < kRound; ++u) {
        float v[kWidth];
        raw[u].unpack(v);
        affine.apply(v);
        activation(v);
        if (pixel + u * p.lanes < end) store(y, v);
        y += yStep;
      }
      pixel += kRound * p.lanes;
      load();
    }
  }
}

template <class T, int kWidth, class Store> __device__ __forceinline__ void norm_apply_to(const NormApplyParams& p, const Store& store) {
  using Silu = std::conditional_t<sizeof(T) == 4, NormSilu, NormHalvedSilu>;
  if (p.act == kSilu) norm_apply_chunk<T, kWidth>(p, Silu{}, store);
  else norm_apply_chunk<T, kWidth>(p, NormAnyActivation{p.act}, store);
}

/** Blocks that a multiprocessor is to hold: numbers of 32 bits take more registers. */
template <class T> inline constexpr int kNormApplyBlocks = sizeof(T) == 4 ? 2 : 3;

/** The last pass. What the model asks for is decided here, before the loops: between their loads it took a quarter longer. */
template <class T, int kWidth, bool kCodes> __device__ __forceinline__ void norm_apply(const NormApplyParams& p) {
  if constexpr (kCodes) {
    const float inverse = __frcp_rn(*p.yScale);
    if (p.isInt8) norm_apply_to<T, kWidth>(p, NormCodes<int8_t>{inverse});
    else norm_apply_to<T, kWidth>(p, NormCodes<__nv_fp8_e4m3>{inverse});
  } else {
    norm_apply_to<T, kWidth>(p, NormNumbers<T>{});
  }
}

}  // namespace vd::device

/** The kernels of the last pass op_apply_<dtype>[_scalar]; the file says `using namespace vd::device` before. */
#define VD_NORM_APPLY_OF(op, type, name, codes)                                                                     \
  VD_KERNEL_OVERLAPPED(op##_apply_##name, NormApplyParams, 320, kNormApplyBlocks<type>, norm_apply<type, 8, codes>) \
  VD_KERNEL_OVERLAPPED(op##_apply_##name##_scalar, NormApplyParams, 320, 2, norm_apply<type, 1, codes>)
#define VD_NORM_APPLY(op, codes)           \
  VD_NORM_APPLY_OF(op, float, f32, codes)  \
  VD_NORM_APPLY_OF(op, __half, f16, codes) \
  VD_NORM_APPLY_OF(op, __nv_bfloat16, bf16, codes)
