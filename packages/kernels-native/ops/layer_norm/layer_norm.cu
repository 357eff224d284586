// layer_norm with weight and bias and nothing behind them: y = (x - mean) / sqrt(var + eps) · weight + bias over the last
// dimension. Other operands: layer_norm_modulated.cu.
//
// Plan: kLanes lanes own a row and keep it in registers (kChunks vectors of eight a lane): one read, two sums over the
// registers, one write. Rows too long or unaligned: one block a row, three passes through L1. Few rows
// of 16-bit types: one block a row, one vector a thread (layer_norm_wide).
// Log (H200, f16): 460800x320 149 us (93 % of the copy ceiling), 115200x640 78 us, 28800x1280 43.5 us.
// Symbols: layer_norm_<dtype>_l<lanes>c<chunks>, layer_norm_<dtype>_block, layer_norm_<f16|bf16>_wide.
#include "../../device/kernel.cuh"
#include "../../device/reduce.cuh"
#include "../../device/token_norm.h"
#include "../../device/vec.cuh"
#include "layer_norm_params.h"

using namespace vd::device;

namespace {

/** What rounding left in a sum divided by a count, for float32 results: 16-bit ones do not see it. */
template <class T> inline constexpr bool kCorrected = sizeof(T) == 4;

template <class T, int kLanes, int kChunks> __device__ __forceinline__ void layer_norm_rows(const LayerNormParams& p) {
  const int lane = threadIdx.x % kLanes, chunks = p.channels / 8;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  const bool inside = row < p.rows;
  const T* x = static_cast<const T*>(p.x) + (inside ? row : 0) * p.pitch;
  float v[kChunks][8];
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (lane + j * kLanes < chunks) load8(x + (lane + j * kLanes) * 8, v[j]);
  if (p.rows <= kTokenNormFewRows) {
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
      if (lane + j * kLanes < chunks) {
        prefetch_any(p.weight, p.weightType, (lane + j * kLanes) * 8);
        prefetch_any(p.bias, p.biasType, (lane + j * kLanes) * 8);
      }
  }
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (lane + j * kLanes < chunks)
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += v[j][i];
  const float mean = sum_lanes<kLanes>(sum) / p.channels;
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
#pragma unroll
    for (int i = 0; i < 8; ++i) v[j][i] -= mean;
  float rest = 0.0f, square = 0.0f;
  if constexpr (kCorrected<T>) {
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
      if (lane + j * kLanes < chunks)
#pragma unroll
        for (int i = 0; i < 8; ++i) rest += v[j][i];
    rest = sum_lanes<kLanes>(rest) / p.channels;
  }
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (lane + j * kLanes < chunks)
#pragma unroll
      for (int i = 0; i < 8; ++i) square = fmaf(v[j][i] - rest, v[j][i] - rest, square);
  const float rstd = rsqrtf(sum_lanes<kLanes>(square) / p.channels + p.eps);
  if (!inside) return;
  T* y = static_cast<T*>(p.y) + row * p.yPitch;
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    const int c = (lane + j * kLanes) * 8;
    if (lane + j * kLanes < chunks) {
      float scale[8], shift[8];
      load8_any(p.weight, p.weightType, c, scale);
      load8_any(p.bias, p.biasType, c, shift);
#pragma unroll
      for (int i = 0; i < 8; ++i) v[j][i] = fmaf((v[j][i] - rest) * rstd, scale[i], shift[i]);
      store8(y + c, v[j]);
    }
  }
}

/** Mean and squared deviations of two sets of `count` values each, as those of their union. */
__device__ __forceinline__ void merge_equal(float& mean, float& square, float otherMean, float otherSquare, float count) {
  const float delta = otherMean - mean;
  mean = 0.5f * (mean + otherMean);
  square = fmaf(delta * delta, 0.5f * count, square + otherSquare);
}

/** A row by one block, eight channels a thread: where rows are few, what counts is how long one takes. Everything is asked for at once,
 *  and mean and deviations come by one reduction and one barrier. channels: a multiple of 256, as many vectors as threads. */
template <class T> __device__ __forceinline__ void layer_norm_wide(const LayerNormParams& p) {
  __shared__ float2 parts[kLayerNormWideThreads / 32];
  const int c = threadIdx.x * 8, numWarps = blockDim.x / 32;
  float v[8], scale[8], shift[8];
  load8(static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.x) * p.pitch + c, v);
  load8_any(p.weight, p.weightType, c, scale);
  load8_any(p.bias, p.biasType, c, shift);
  float mean = 0.125f * (((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])));
  float squares[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float a = v[i] - mean, b = v[i + 4] - mean;
    squares[i] = fmaf(a, a, b * b);
  }
  float square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    const float otherMean = __shfl_xor_sync(0xffffffffu, mean, step), otherSquare = __shfl_xor_sync(0xffffffffu, square, step);
    merge_equal(mean, square, otherMean, otherSquare, 8.0f * step);
  }
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x / 32] = make_float2(mean, square);
  __syncthreads();
  mean = square = 0.0f;
  for (int i = 0; i < numWarps; ++i) mean += parts[i].x;
  mean /= numWarps;
  for (int i = 0; i < numWarps; ++i) square += fmaf(256.0f * (parts[i].x - mean), parts[i].x - mean, parts[i].y);
  const float rstd = rsqrtf(square / p.channels + p.eps);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = fmaf((v[i] - mean) * rstd, scale[i], shift[i]);
  store8(static_cast<T*>(p.y) + static_cast<int64_t>(blockIdx.x) * p.yPitch + c, v);
}

template <class T> __device__ __forceinline__ void layer_norm_block(const LayerNormParams& p) {
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.x) * p.pitch;
  T* y = static_cast<T*>(p.y) + static_cast<int64_t>(blockIdx.x) * p.yPitch;
  float sum = 0.0f, rest = 0.0f, square = 0.0f;
  for (int c = threadIdx.x; c < p.channels; c += 256) sum += to_float(x[c]);
  const float mean = sum_block<256>(sum) / p.channels;
  if constexpr (kCorrected<T>) {
    for (int c = threadIdx.x; c < p.channels; c += 256) rest += to_float(x[c]) - mean;
    rest = sum_block<256>(rest) / p.channels;
  }
  const auto centred = [&](int c) { return to_float(x[c]) - mean - rest; };
  for (int c = threadIdx.x; c < p.channels; c += 256) square = fmaf(centred(c), centred(c), square);
  const float rstd = rsqrtf(sum_block<256>(square) / p.channels + p.eps);
  for (int c = threadIdx.x; c < p.channels; c += 256)
    y[c] = from_float<T>(fmaf(centred(c) * rstd, load_any(p.weight, p.weightType, c), load_any(p.bias, p.biasType, c)));
}

}  // namespace

#define VD_ROWS(type, name, lanes, chunks) \
  VD_KERNEL_OVERLAPPED(layer_norm_##name##_l##lanes##c##chunks, LayerNormParams, 256, 2, layer_norm_rows<type, lanes, chunks>)
#define VD_LAYER_NORM(type, name) \
  VD_ROWS(type, name, 8, 5)       \
  VD_ROWS(type, name, 16, 5)      \
  VD_ROWS(type, name, 32, 5)      \
  VD_ROWS(type, name, 32, 8)      \
  VD_KERNEL_OVERLAPPED(layer_norm_##name##_block, LayerNormParams, 256, 2, layer_norm_block<type>)
#define VD_WIDE(type, name) VD_KERNEL_OVERLAPPED(layer_norm_##name##_wide, LayerNormParams, kLayerNormWideThreads, 2, layer_norm_wide<type>)
VD_WIDE(__half, f16)
VD_WIDE(__nv_bfloat16, bf16)
VD_LAYER_NORM(float, f32)
VD_LAYER_NORM(__half, f16)
VD_LAYER_NORM(__nv_bfloat16, bf16)
