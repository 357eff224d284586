// Norms of many tokens to 8-bit codes: the numbers of token_norm.cuh, in all bits, of 16-bit tokens that nothing modulates.
//
// A byte is written where two are read, so that what a row's threads do between their loads counts. Plan: blocks stay, and have weight and
// bias as float32 in shared memory; kLanes threads own a row, keep it in registers, and ask for their next one before they need it.
#pragma once
#include "token_norm.cuh"

namespace vd::device {

/** Weight and bias of every channel; 1 and -0, which change no number, where there is none. */
template <int kChannels> struct TokenWeights {
  float weight[kChannels], bias[kChannels];

  /** By all threads of the block, who then meet. */
  __device__ __forceinline__ void load(const TokenNormParams& p) {
    for (int c = threadIdx.x * 8; c < p.channels; c += blockDim.x * 8) {
      float v[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = 1.0f;
      if (p.weight) load8_any(p.weight, p.weightType, c, v);
      store8<float>(weight + c, v);
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = -0.0f;
      if (p.bias) load8_any(p.bias, p.biasType, c, v);
      store8<float>(bias + c, v);
    }
  }
};

template <class T, int kLanes, int kChunks> __device__ __forceinline__ void token_norm_many(const TokenNormParams& p) {
  __shared__ __align__(16) TokenWeights<kLanes * kChunks * 8> weights;
  const int lane = threadIdx.x % kLanes, vectors = p.channels / 8;
  const uint32_t step = gridDim.x * blockDim.x / kLanes, rowInWarp = threadIdx.x % 32 / kLanes;
  Raw8<T> next[kChunks];
  const auto load = [&](uint32_t row) {
    const T* x = static_cast<const T*>(p.x) + row * p.pitch;
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      next[j].q[0] = make_uint4(0, 0, 0, 0);
      if (row < p.rows && lane + j * kLanes < vectors) load_raw8(x + (lane + j * kLanes) * 8, next[j]);
    }
  };
  uint32_t row = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  load(row);
  weights.load(p);
  const bool isGiven = p.yScale != nullptr;
  const float given = isGiven ? *p.yScale : 0.0f;
  __syncthreads();
  for (; row - rowInWarp < p.rows; row += step) {
    float v[kChunks][8];
#pragma unroll
    for (int j = 0; j < kChunks; ++j) unpack_raw8<T>(next[j], v[j]);
    load(row + step);
    const auto sum_of = [&](auto&& term) {
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < kChunks; ++j)
        if (lane + j * kLanes < vectors)
#pragma unroll
          for (int i = 0; i < 8; ++i) sum = term(sum, v[j][i]);
      return sum_row<kLanes>(sum);
    };
    const float mean = sum_of([](float sum, float value) { return sum + value; }) / p.channels;
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
#pragma unroll
      for (int i = 0; i < 8; ++i) v[j][i] -= mean;
    const float square = sum_of([](float sum, float value) { return fmaf(value, value, sum); });
    const float factor = rsqrtf(square / p.channels + p.eps);
    float found = 0.0f;
#pragma unroll
    for (int j = 0; j < kChunks; ++j) {
      const int c = (lane + j * kLanes) * 8;
      if (lane + j * kLanes >= vectors) continue;
      float weight[8], bias[8];
      load8<float>(weights.weight + c, weight);
      load8<float>(weights.bias + c, bias);
#pragma unroll
      for (int i = 0; i < 8; ++i) v[j][i] = __fadd_rn(__fmul_rn(v[j][i] * factor, weight[i]), bias[i]);
      if (!isGiven) found = largest_of<8>(v[j], found);
    }
    const float scale = isGiven ? given : code_scale(max_row<kLanes>(found), p.isInt8), inverse = __frcp_rn(scale);
    if (row >= p.rows) continue;
    uint8_t* y = static_cast<uint8_t*>(p.y) + row * p.yPitch;
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
      if (lane + j * kLanes < vectors) store_codes<8>(y + (lane + j * kLanes) * 8, v[j], inverse, p.isInt8);
    if (lane == 0 && p.scales != nullptr) p.scales[row * p.scalesPitch] = scale;
  }
}

}  // namespace vd::device

#define VD_TOKEN_NORM_MANY_ROWS(op, type, name, lanes, chunks)                                                           \
  VD_KERNEL_OVERLAPPED(op##_##name##_many_l##lanes##c##chunks, TokenNormParams, kTokenNormThreads, kTokenNormManyBlocks, \
                       token_norm_many<type, lanes, chunks>)
#define VD_TOKEN_NORM_MANY_OF(op, type, name)    \
  VD_TOKEN_NORM_MANY_ROWS(op, type, name, 8, 5)  \
  VD_TOKEN_NORM_MANY_ROWS(op, type, name, 16, 5) \
  VD_TOKEN_NORM_MANY_ROWS(op, type, name, 32, 5) \
  VD_TOKEN_NORM_MANY_ROWS(op, type, name, 32, 6) \
  VD_TOKEN_NORM_MANY_ROWS(op, type, name, 32, 8)

/** The kernels op_<dtype>_many_l<lanes>c<chunks>; the file says `using namespace vd::device` before. */
#define VD_TOKEN_NORM_MANY(op)           \
  VD_TOKEN_NORM_MANY_OF(op, __half, f16) \
  VD_TOKEN_NORM_MANY_OF(op, __nv_bfloat16, bf16)
