// What the elementwise kernels share: the functions, and the runs of elements that threads take.
#pragma once
#include "../../device/activation.cuh"
#include "../../device/elementwise.cuh"
#include "elementwise_params.h"

namespace vd::device {

/** kFast: for 16-bit results. */
template <bool kFast> __device__ __forceinline__ float unary(int code, float x) {
  switch (code) {
    case kNeg: return -x;
    case kAbs: return fabsf(x);
    case kSquare: return x * x;
    case kSqrt: return kFast ? ptx::sqrt_approx(x) : sqrtf(x);
    case kRsqrt: return rsqrtf(x);
    case kExp: return expf(x);
    case kLog: return logf(x);
    case kSigmoid: return sigmoid(x);
    case kTanh: return kFast ? tanh_fast(x) : tanhf(x);
    case kReluOf: return fmaxf(x, 0.0f);
    case kSiluOf: return silu(x);
    case kGeluOf: return kFast ? gelu_fast(x) : gelu(x);
    case kGeluTanhOf: return gelu_tanh(x);
    default: return quick_gelu(x);
  }
}

/** kFast: for 16-bit results. */
template <bool kFast> __device__ __forceinline__ float binary(int code, float x, float y) {
  switch (code) {
    case kAdd: return x + y;
    case kSub: return x - y;
    case kMul: return x * y;
    case kDiv: return kFast ? __fdividef(x, y) : x / y;
    case kMin: return fminf(x, y);
    default: return fmaxf(x, y);
  }
}

/** Where an operand's numbers for a frame start. */
__device__ __forceinline__ int64_t frame_offset(const ElementwiseOperand& o, uint32_t clip, uint32_t frame) {
  return clip * o.clipStride + frame * o.frameStride;
}

/** A run of kWidth channels of a frame. */
struct Run {
  uint32_t token;
  int64_t channel;
};

/** The i-th run of a frame. Of one token, and of single channels, there may be more than 2^32. */
template <int kWidth> __device__ __forceinline__ Run run_of(const ElementwiseParams& p, int64_t i) {
  if (p.tokens == 1) return {0, i * kWidth};
  if constexpr (kWidth == 1) return {static_cast<uint32_t>(i / p.channels), i % p.channels};
  const uint32_t runs = static_cast<uint32_t>(p.channels / kWidth), token = static_cast<uint32_t>(i) / runs;
  return {token, static_cast<int64_t>(static_cast<uint32_t>(i) - token * runs) * kWidth};
}

/** Calls body(clip, frame) for each of this thread's frames. */
template <class Body> __device__ __forceinline__ void for_each_frame(const ElementwiseParams& p, Body&& body) {
  for (uint32_t y = blockIdx.y; y < p.clips * p.frames; y += gridDim.y) body(y / p.frames, y % p.frames);
}
/** The first run of a frame that is this thread's, and what lies between it and the next. */
__device__ __forceinline__ int64_t first_run() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int64_t run_step() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }
/** Where the numbers of a run lie in an operand. */
__device__ __forceinline__ int64_t run_offset(const ElementwiseOperand& o, const Run& run, uint32_t clip, uint32_t frame) {
  return frame_offset(o, clip, frame) + run.token * o.tokenStride + run.channel * o.channelStride;
}
/** Where they lie in the result. */
__device__ __forceinline__ int64_t result_offset(const ElementwiseParams& p, const Run& run, uint32_t clip, uint32_t frame) {
  return ((static_cast<int64_t>(clip) * p.frames + frame) * p.tokens + run.token) * p.yPitch + run.channel;
}

/** Eight elements of an operand as they lie in memory. One element for all is repeated. */
template <class T> __device__ __forceinline__ void load_operand(const ElementwiseOperand& o, int64_t at, Raw8<T>& raw) {
  if (o.channelStride != 0) {
    load_raw8(static_cast<const T*>(o.data) + at, raw);
    return;
  }
  const T one = static_cast<const T*>(o.data)[at];
  uint32_t word;
  if constexpr (sizeof(T) == 4) {
    word = __float_as_uint(one);
  } else {
    const uint16_t half = *reinterpret_cast<const uint16_t*>(&one);
    word = half | static_cast<uint32_t>(half) << 16;
  }
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) raw.q[i] = make_uint4(word, word, word, word);
}

/** Calls compute(x, y) for each of this thread's runs: x has eight elements of each of the first kOperands operands, all loaded before the
 *  first is used, and y becomes those of the result. */
template <class T, int kOperands, class Compute>
__device__ __forceinline__ void for_each_run(const ElementwiseParams& p, Compute&& compute) {
  const int64_t count = p.channels / 8 * p.tokens;
  for_each_frame(p, [&](uint32_t clip, uint32_t frame) {
    for (int64_t i = first_run(); i < count; i += run_step()) {
      const Run run = run_of<8>(p, i);
      Raw8<T> raw[kElementwiseOperands];
#pragma unroll
      for (int k = 0; k < kOperands; ++k) load_operand(p.operands[k], run_offset(p.operands[k], run, clip, frame), raw[k]);
      float x[kElementwiseOperands][8] = {}, y[8];
#pragma unroll
      for (int k = 0; k < kOperands; ++k) unpack_raw8<T>(raw[k], x[k]);
      compute(x, y);
      store8(static_cast<T*>(p.y) + result_offset(p, run, clip, frame), y);
    }
  });
}

}  // namespace vd::device
