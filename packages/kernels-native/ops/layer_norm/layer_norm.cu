// layer_norm with weight and bias and nothing behind them: y = (x - mean) / sqrt(var + eps) · weight + bias over the last
// dimension. Other operands: layer_norm_modulated.cu.
//
// Plan: kLanes lanes own a row and keep it in registers (kChunks vectors of eight a lane): one read, two sums over the
// registers, one write. Rows too long or unaligned: one block a row, three passes through L1. Few rows
// of 16-bit types have weights and biases there before they begin (layer_norm_ready).
// Log (H200, f16): 460800x320 149 us (93 % of the copy ceiling), 115200x640 78 us, 28800x1280 43.5 us.
// Symbols: layer_norm_<dtype>_l<lanes>c<chunks>, layer_norm_<dtype>_block, layer_norm_<f16|bf16>_<dtype of
// weights>_ready_l<lanes>c<chunks>.
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

/** Eight elements of a type that the compiler knows, which may have been written while this launch was on its way. */
template <class T> __device__ __forceinline__ Raw8<T> read_raw8(const T* p) {
  Raw8<T> raw;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) raw.q[i] = reinterpret_cast<const uint4*>(p)[i];
  return raw;
}

/** Few rows, of which each waits for memory: weights and biases, of type W, stand in registers before the launch before has ended if
 * nothing writes them, else before the sums. The bits are those of layer_norm_rows. */
template <class T, class W, int kLanes, int kChunks> __device__ __forceinline__ void layer_norm_ready(const LayerNormParams& p) {
  begin_next_launch();
  const int lane = threadIdx.x % kLanes, vectors = p.channels / 8;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  const bool inside = row < p.rows;
  const T* x = static_cast<const T*>(p.x) + (inside ? row : 0) * p.pitch;
  const auto has = [&](int j) { return lane + j * kLanes < vectors; };
  Raw8<W> weight[kChunks], bias[kChunks];
  if (!p.constantWeights) await_results_before();
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (has(j)) {
      weight[j] = read_raw8(static_cast<const W*>(p.weight) + (lane + j * kLanes) * 8);
      bias[j] = read_raw8(static_cast<const W*>(p.bias) + (lane + j * kLanes) * 8);
    }
  if (p.constantWeights) await_results_before();
  float v[kChunks][8], sum = 0.0f, square = 0.0f;
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (has(j)) unpack_raw8<T>(read_raw8(x + (lane + j * kLanes) * 8), v[j]);
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (has(j))
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += v[j][i];
  const float mean = sum_lanes<kLanes>(sum) / p.channels;
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (has(j))
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        v[j][i] -= mean;
        square = fmaf(v[j][i], v[j][i], square);
      }
  const float rstd = rsqrtf(sum_lanes<kLanes>(square) / p.channels + p.eps);
  if (!inside) return;
  T* y = static_cast<T*>(p.y) + row * p.yPitch;
#pragma unroll
  for (int j = 0; j < kChunks; ++j)
    if (has(j)) {
      float scale[8], shift[8];
      unpack_raw8<W>(weight[j], scale);
      unpack_raw8<W>(bias[j], shift);
#pragma unroll
      for (int i = 0; i < 8; ++i) v[j][i] = fmaf(v[j][i] * rstd, scale[i], shift[i]);
      store8(y + (lane + j * kLanes) * 8, v[j]);
    }
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
#define VD_READY_OF(type, name, weights, weightsName, lanes, chunks, minBlocks)                                                \
  VD_KERNEL(layer_norm_##name##_##weightsName##_ready_l##lanes##c##chunks, LayerNormParams, kLayerNormReadyThreads, minBlocks, \
            layer_norm_ready<type, weights, lanes, chunks>)
#define VD_READY_WEIGHTS(type, name, weights, weightsName, minBlocks) \
  VD_READY_OF(type, name, weights, weightsName, 8, 5, minBlocks)      \
  VD_READY_OF(type, name, weights, weightsName, 16, 5, minBlocks)     \
  VD_READY_OF(type, name, weights, weightsName, 32, 5, minBlocks)
#define VD_READY(type, name)                  \
  VD_READY_WEIGHTS(type, name, type, name, 2) \
  VD_READY_WEIGHTS(type, name, float, f32, 1)
VD_READY(__half, f16)
VD_READY(__nv_bfloat16, bf16)
VD_LAYER_NORM(float, f32)
VD_LAYER_NORM(__half, f16)
VD_LAYER_NORM(__nv_bfloat16, bf16)
