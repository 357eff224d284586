// Norms of tokens over their channels with whatever follows: weight and bias, scale and shift.
//
// Plan: kLanes threads own a row and keep it in registers (kChunks vectors of eight a thread): one read, sums over the registers,
// one write. Rows too long or unaligned: one block a row, two or three passes through L1.
#pragma once
#include "kernel.cuh"
#include "quantized.cuh"
#include "reduce.cuh"
#include "token_norm.h"
#include "vec.cuh"

namespace vd::device {

/** Sum over the threads that own a row. */
template <int kLanes> __device__ __forceinline__ float sum_row(float v) {
  if constexpr (kLanes <= 32) return sum_lanes<kLanes>(v);
  else return sum_block<kTokenNormThreads>(v);
}

/** The largest over the threads that own a row. */
template <int kLanes> __device__ __forceinline__ float max_row(float v) {
  if constexpr (kLanes <= 32) return max_lanes<kLanes>(v);
  else return max_block<kTokenNormThreads>(v);
}

/** Where a row's part of a modulating operand starts. */
__device__ __forceinline__ int64_t modulation_offset(const TokenNormParams& p, const TokenModulation& m, uint32_t row) {
  const uint32_t frame = row / p.tokens, clip = frame / p.frames;
  return clip * m.clipStride + (frame - clip * p.frames) * m.frameStride + (row - frame * p.tokens) * m.tokenStride;
}

/** Everything behind the normalisation, for eight channels from c. */
__device__ __forceinline__ void finish_token8(const TokenNormParams& p, float (&v)[8], int c, int64_t scaleAt, int64_t shiftAt) {
  float other[8];
  if (p.weight) {
    load8_any(p.weight, p.weightType, c, other);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] *= other[i];
  }
  if (p.bias) {
    load8_any(p.bias, p.biasType, c, other);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] += other[i];
  }
  if (p.scale.data) {
    load8_any(p.scale.data, p.scale.type, scaleAt + c, other);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], other[i], v[i]);
  }
  if (p.shift.data) {
    load8_any(p.shift.data, p.shift.type, shiftAt + c, other);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] += other[i];
  }
}

/** Everything behind the normalisation, for one channel. */
__device__ __forceinline__ float finish_token(const TokenNormParams& p, float v, int c, int64_t scaleAt, int64_t shiftAt) {
  if (p.weight) v *= load_any(p.weight, p.weightType, c);
  if (p.bias) v += load_any(p.bias, p.biasType, c);
  if (p.scale.data) v = fmaf(v, load_any(p.scale.data, p.scale.type, scaleAt + c), v);
  if (p.shift.data) v += load_any(p.shift.data, p.shift.type, shiftAt + c);
  return v;
}

/** Rows in registers. kCentred: about their mean (layer_norm), else about 0 (rms_norm). kCodes: rounded to 8 bits with a scale for each
 *  row, or a given one. */
template <class T, int kLanes, int kChunks, bool kCentred, bool kCodes>
__device__ __forceinline__ void token_norm_rows(const TokenNormParams& p) {
  const int lane = threadIdx.x % kLanes, vectors = p.channels / 8;
  const uint32_t row = kLanes == kTokenNormThreads ? blockIdx.x : (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  const bool inside = row < p.rows;
  const T* x = static_cast<const T*>(p.x) + (inside ? row : 0) * p.pitch;
  float v[kChunks][8];
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    if (lane + j * kLanes < vectors) {
      load8(x + (lane + j * kLanes) * 8, v[j]);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) v[j][i] = 0.0f;
    }
  }
  if (p.rows <= kTokenNormFewRows) {
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
      if (lane + j * kLanes < vectors) {
        prefetch_any(p.weight, p.weightType, (lane + j * kLanes) * 8);
        prefetch_any(p.bias, p.biasType, (lane + j * kLanes) * 8);
      }
  }
  const auto sum_of = [&](auto&& term) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
      if (lane + j * kLanes < vectors)
#pragma unroll
        for (int i = 0; i < 8; ++i) sum = term(sum, v[j][i]);
    return sum_row<kLanes>(sum);
  };
  const auto subtract_mean = [&] {
    const float mean = sum_of([](float sum, float value) { return sum + value; }) / p.channels;
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
#pragma unroll
      for (int i = 0; i < 8; ++i) v[j][i] -= mean;
  };
  if constexpr (kCentred) {
    subtract_mean();
    // What rounding left in the mean, for float32 results: 16-bit ones do not see it.
    if constexpr (sizeof(T) == 4) subtract_mean();
  }
  const float square = sum_of([](float sum, float value) { return fmaf(value, value, sum); });
  const float factor = rsqrtf(square / p.channels + p.eps);
  if constexpr (!kCodes)
    if (!inside) return;
  const uint32_t known = inside ? row : 0;
  // Asked for beside the weights, not behind them.
  const float given = kCodes && p.yScale != nullptr ? *p.yScale : 0.0f;
  const int64_t scaleAt = p.scale.data ? modulation_offset(p, p.scale, known) : 0;
  const int64_t shiftAt = p.shift.data ? modulation_offset(p, p.shift, known) : 0;
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    const int c = (lane + j * kLanes) * 8;
    if (lane + j * kLanes < vectors) {
#pragma unroll
      for (int i = 0; i < 8; ++i) v[j][i] *= factor;
      finish_token8(p, v[j], c, scaleAt, shiftAt);
      if constexpr (!kCodes) store8(static_cast<T*>(p.y) + row * p.yPitch + c, v[j]);
    }
  }
  if constexpr (kCodes) {
    const auto largest = [&] {
      float found = 0.0f;
#pragma unroll
      for (int j = 0; j < kChunks; ++j)
        if (lane + j * kLanes < vectors) found = largest_of<8>(v[j], found);
      return max_row<kLanes>(found);
    };
    // Nobody looks for the largest number of a row whose scale is given.
    const float scale = p.yScale != nullptr ? given : code_scale(largest(), p.isInt8), inverse = __frcp_rn(scale);
    if (!inside) return;
    uint8_t* y = static_cast<uint8_t*>(p.y) + row * p.yPitch;
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
      if (lane + j * kLanes < vectors) store_codes<8>(y + (lane + j * kLanes) * 8, v[j], inverse, p.isInt8);
    if (lane == 0 && p.scales != nullptr) p.scales[row * p.scalesPitch] = scale;
  }
}

/** A row of any length at any address by one block. */
template <class T, bool kCentred, bool kCodes> __device__ __forceinline__ void token_norm_block(const TokenNormParams& p) {
  const uint32_t row = blockIdx.x;
  const T* x = static_cast<const T*>(p.x) + row * p.pitch;
  const auto sum_of = [&](auto&& term) {
    float sum = 0.0f;
    for (int c = threadIdx.x; c < p.channels; c += kTokenNormThreads) sum = term(sum, to_float(x[c]));
    return sum_block<kTokenNormThreads>(sum);
  };
  float mean = 0.0f, rest = 0.0f;
  if constexpr (kCentred) {
    mean = sum_of([](float sum, float value) { return sum + value; }) / p.channels;
    if constexpr (sizeof(T) == 4) rest = sum_of([&](float sum, float value) { return sum + (value - mean); }) / p.channels;
  }
  const auto centred = [&](float value) { return value - mean - rest; };
  const float square = sum_of([&](float sum, float value) { return fmaf(centred(value), centred(value), sum); });
  const float factor = rsqrtf(square / p.channels + p.eps);
  const int64_t scaleAt = p.scale.data ? modulation_offset(p, p.scale, row) : 0;
  const int64_t shiftAt = p.shift.data ? modulation_offset(p, p.shift, row) : 0;
  const auto finished = [&](int c) { return finish_token(p, centred(to_float(x[c])) * factor, c, scaleAt, shiftAt); };
  if constexpr (kCodes) {
    const auto largest = [&] {
      float found = 0.0f;
      for (int c = threadIdx.x; c < p.channels; c += kTokenNormThreads) found = fmaxf(found, fabsf(finished(c)));
      return max_block<kTokenNormThreads>(found);
    };
    const float scale = p.yScale != nullptr ? *p.yScale : code_scale(largest(), p.isInt8), inverse = __frcp_rn(scale);
    uint8_t* y = static_cast<uint8_t*>(p.y) + row * p.yPitch;
    for (int c = threadIdx.x; c < p.channels; c += kTokenNormThreads) {
      float v[1] = {finished(c)};
      store_codes<1>(y + c, v, inverse, p.isInt8);
    }
    if (threadIdx.x == 0 && p.scales != nullptr) p.scales[row * p.scalesPitch] = scale;
  } else {
    T* y = static_cast<T*>(p.y) + row * p.yPitch;
    for (int c = threadIdx.x; c < p.channels; c += kTokenNormThreads) y[c] = from_float<T>(finished(c));
  }
}

}  // namespace vd::device

#define VD_TOKEN_NORM_ROWS(op, type, name, lanes, chunks, centred, codes)                                                                \
  VD_KERNEL_OVERLAPPED(op##_##name##_l##lanes##c##chunks, TokenNormParams, kTokenNormThreads, (sizeof(type) == 4 && chunks > 8 ? 1 : 2), \
                       token_norm_rows<type, lanes, chunks, centred, codes>)
#define VD_TOKEN_NORM_OF(op, type, name, centred, codes)     \
  VD_TOKEN_NORM_ROWS(op, type, name, 8, 5, centred, codes)   \
  VD_TOKEN_NORM_ROWS(op, type, name, 16, 5, centred, codes)  \
  VD_TOKEN_NORM_ROWS(op, type, name, 32, 5, centred, codes)  \
  VD_TOKEN_NORM_ROWS(op, type, name, 32, 6, centred, codes)  \
  VD_TOKEN_NORM_ROWS(op, type, name, 32, 8, centred, codes)  \
  VD_TOKEN_NORM_ROWS(op, type, name, 32, 12, centred, codes) \
  VD_TOKEN_NORM_ROWS(op, type, name, 256, 3, centred, codes) \
  VD_KERNEL_OVERLAPPED(op##_##name##_block, TokenNormParams, kTokenNormThreads, 2, token_norm_block<type, centred, codes>)

/** The kernels op_<dtype>_l<lanes>c<chunks> for every shape, and op_<dtype>_block; the file says `using namespace vd::device`
 *  before. */
#define VD_TOKEN_NORM(op, centred, codes)           \
  VD_TOKEN_NORM_OF(op, float, f32, centred, codes)  \
  VD_TOKEN_NORM_OF(op, __half, f16, centred, codes) \
  VD_TOKEN_NORM_OF(op, __nv_bfloat16, bf16, centred, codes)
