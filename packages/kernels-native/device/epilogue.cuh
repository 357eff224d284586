// The fused tail of conv and linear: bias, frame bias, activation, scales, two residuals.
#pragma once
#include "activation.cuh"
#include "epilogue.h"
#include "ptx/load.cuh"
#include "quantized.cuh"
#include "vec.cuh"

namespace vd::device {

/** Offset of the frame-bias row of a frame counted over batches. */
__device__ __forceinline__ int64_t frame_bias_row(const Epilogue& e, uint32_t frame) {
  const uint32_t batch = frame / static_cast<uint32_t>(e.framesPerBatch);
  return batch * e.frameBiasBatchStride + (frame - batch * e.framesPerBatch) * e.frameBiasFrameStride;
}
/** The same for the frame of output pixel `pixel`. */
__device__ __forceinline__ int64_t frame_bias_offset(const Epilogue& e, int64_t pixel) {
  return frame_bias_row(e, static_cast<uint32_t>(pixel) / static_cast<uint32_t>(e.pixelsPerFrame));
}

/** Adds `scale` · source[offset .. offset+8) to v. */
__device__ __forceinline__ void add_scaled8(float (&v)[8], const void* source, int type, int64_t offset, float scale) {
  float r[8];
  load8_any(source, type, offset, r);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = fmaf(scale, r[i], v[i]);
}

/** Stores finished results as 8-bit codes: eight to an 8-byte aligned place, or one. */
template <int kWidth> __device__ __forceinline__ void store_result_codes(const Epilogue& e, float (&v)[kWidth], int64_t at) {
  const float inverse = e.yScale == nullptr ? 1.0f : __frcp_rn(__ldg(e.yScale));
  store_codes<kWidth>(static_cast<uint8_t*>(e.y) + at, v, inverse, e.yType == kI8);
}
/** Activates sums, gelu as exactly as results of 16 bits or more show it. */
template <int N> __device__ __forceinline__ void activate_sums(const Epilogue& e, float (&v)[N]) {
  if (e.act == kGelu && (e.yType == kF16 || e.yType == kBf16)) activate<true>(v, kGelu);
  else activate(v, e.act);
}
/** True for results that are 8-bit codes. */
__device__ __forceinline__ bool leaves_codes(const Epilogue& e) { return e.yType == kI8 || e.yType == kF8E4M3; }

/** Everything after the pre-activation sum, for eight channels from `col` (vector form). kCodes: results may be 8-bit codes. */
template <bool kCodes = false> __device__ __forceinline__ void finish8(const Epilogue& e, float (&v)[8], int64_t pixel, int col) {
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] *= e.outScale;
  if (e.residual) add_scaled8(v, e.residual, e.residualType, pixel * e.residualPitch + col, e.residualScale);
  if (e.residual2) add_scaled8(v, e.residual2, e.residual2Type, pixel * e.residual2Pitch + col, e.residual2Scale);
  if constexpr (kCodes)
    if (leaves_codes(e)) return store_result_codes<8>(e, v, pixel * e.yPitch + col);
  store8_any(e.y, e.yType, pixel * e.yPitch + col, v);
}

/** One channel of the tail, for ragged or unaligned outputs. `sum` is acc, before bias. */
template <bool kCodes = false>
__device__ __forceinline__ void finish1(const Epilogue& e, float sum, int64_t pixel, int col, bool activated) {
  float v[1] = {sum};
  if (!activated) {
    if (e.bias) v[0] += load_any(e.bias, e.biasType, col);
    if (e.frameBias) v[0] += load_any(e.frameBias, e.frameBiasType, frame_bias_offset(e, pixel) + col);
    activate_sums(e, v);
  }
  float r = v[0] * e.outScale;
  if (e.residual) r = fmaf(e.residualScale, load_any(e.residual, e.residualType, pixel * e.residualPitch + col), r);
  if (e.residual2) r = fmaf(e.residual2Scale, load_any(e.residual2, e.residual2Type, pixel * e.residual2Pitch + col), r);
  if constexpr (kCodes) {
    float code[1] = {r};
    if (leaves_codes(e)) return store_result_codes<1>(e, code, pixel * e.yPitch + col);
  }
  store_any(e.y, e.yType, pixel * e.yPitch + col, r);
}

/** The whole tail for eight channels from `col`: acc in v. `activated`: bias and activation are already applied. */
template <bool kCodes = false>
__device__ __forceinline__ void epilogue8(const Epilogue& e, float (&v)[8], int64_t pixel, int col, bool activated) {
  if (!e.vector) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (col + i < e.n) finish1<kCodes>(e, v[i], pixel, col + i, activated);
    return;
  }
  if (col >= e.n) return;
  if (!activated) {
    if (e.bias) add_scaled8(v, e.bias, e.biasType, col, 1.0f);
    if (e.frameBias) add_scaled8(v, e.frameBias, e.frameBiasType, frame_bias_offset(e, pixel) + col, 1.0f);
    activate_sums(e, v);
  }
  finish8<kCodes>(e, v, pixel, col);
}

/** Value and gate of geglu for one channel: (value + bias) · gelu(gate + gateBias), or of swiglu, with silu for gelu. */
template <bool kSwiglu> __device__ __forceinline__ float gated(const Epilogue& e, float value, float gate, int64_t pixel, int col) {
  if (col >= e.n) return 0.0f;
  if (e.bias) {
    value += load_any(e.bias, e.biasType, col);
    gate += load_any(e.bias, e.biasType, e.n + col);
  }
  if (e.frameBias) {
    const int64_t row = frame_bias_offset(e, pixel);
    value += load_any(e.frameBias, e.frameBiasType, row + col);
    gate += load_any(e.frameBias, e.frameBiasType, row + e.n + col);
  }
  return value * (kSwiglu ? silu(gate) : gelu(gate));
}

/** The tail for eight channels when every operand has type T, bias is float32 and 16-byte accesses are allowed.
 *  kActivation: the call may ask for an activation; kCodes: results may be 8-bit codes instead. `activated`: bias and activation are
 * already applied. */
template <class T, bool kActivation, bool kCodes = false>
__device__ __forceinline__ void epilogue8_typed(const Epilogue& e, float (&v)[8], int64_t pixel, int col, bool activated) {
  if (col >= e.n) return;
  float r[8];
  if (!activated) {
    if (e.bias) {
      load8_readonly(static_cast<const float*>(e.bias) + col, r);
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] += r[i];
    }
    if (e.frameBias) {
      load8_readonly(static_cast<const T*>(e.frameBias) + frame_bias_offset(e, pixel) + col, r);
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] += r[i];
    }
    if constexpr (kActivation) activate<sizeof(T) == 2>(v, e.act);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] *= e.outScale;
  if (e.residual) {
    load8_readonly(static_cast<const T*>(e.residual) + pixel * e.residualPitch + col, r);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(e.residualScale, r[i], v[i]);
  }
  if (e.residual2) {
    load8_readonly(static_cast<const T*>(e.residual2) + pixel * e.residual2Pitch + col, r);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(e.residual2Scale, r[i], v[i]);
  }
  if constexpr (kCodes)
    if (leaves_codes(e)) return store_result_codes<8>(e, v, pixel * e.yPitch + col);
  store8(static_cast<T*>(e.y) + pixel * e.yPitch + col, v);
}

/** True where TailAhead can read the operands: all of type T and in vectors, the bias in float32. */
template <class T> __device__ __forceinline__ bool tail_reads_ahead(const Epilogue& e) {
  constexpr int kType = ElementTypeOf<T>::value;
  return e.vector && e.yType == kType && (!e.bias || e.biasType == kF32) && (!e.frameBias || e.frameBiasType == kType) &&
         (!e.residual || e.residualType == kType) && (!e.residual2 || e.residual2Type == kType);
}

/** The tail for eight channels whose operands are asked for before the sums are there: behind them, one load would wait for the other. */
template <class T> struct TailAhead {
  float bias[8];
  uint4 frameBias, residual, residual2;

  __device__ __forceinline__ void load(const Epilogue& e, int64_t pixel, int col) {
    if (col >= e.n) return;
    const auto operand = [](const void* p, int64_t at) { return ptx::load16_here(static_cast<const T*>(p) + at); };
    if (e.bias) {
      const uint4 low = ptx::load16_here(static_cast<const float*>(e.bias) + col),
                  high = ptx::load16_here(static_cast<const float*>(e.bias) + col + 4);
      const uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) bias[i] = __uint_as_float(words[i]);
    }
    if (e.frameBias) frameBias = operand(e.frameBias, frame_bias_offset(e, pixel) + col);
    if (e.residual) residual = operand(e.residual, pixel * e.residualPitch + col);
    if (e.residual2) residual2 = operand(e.residual2, pixel * e.residual2Pitch + col);
  }

  __device__ __forceinline__ void finish(const Epilogue& e, float (&v)[8], int64_t pixel, int col) const {
    if (col >= e.n) return;
    if (e.bias) {
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] += bias[i];
    }
    if (e.frameBias) add(v, frameBias, 1.0f);
    activate<sizeof(T) == 2>(v, e.act);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] *= e.outScale;
    if (e.residual) add(v, residual, e.residualScale);
    if (e.residual2) add(v, residual2, e.residual2Scale);
    store8(static_cast<T*>(e.y) + pixel * e.yPitch + col, v);
  }

 private:
  static __device__ __forceinline__ void add(float (&v)[8], const uint4& operand, float scale) {
    float r[8];
    unpack8<T>(operand, r);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(scale, r[i], v[i]);
  }
};

/** (scale · value + valueBias) · 2 gelu(gate + gateBias) of two neighbouring channels, or times silu: for 16-bit results. */
template <bool kSwiglu>
__device__ __forceinline__ float2 gated2(float2 value, float2 gate, float scale, float2 valueBias, float2 gateBias) {
  const auto function = [](float x) { return kSwiglu ? silu(x) : doubled_gelu(x); };
  return make_float2(fmaf(value.x, scale, valueBias.x) * function(gate.x + gateBias.x),
                     fmaf(value.y, scale, valueBias.y) * function(gate.y + gateBias.y));
}

/** Transposes a 4x4 block held by the four lanes of a quad, of float pairs or of words: element j of lane i becomes element i of lane j. */
template <class Pair> __device__ __forceinline__ void transpose_quad(Pair (&v)[4], int lane) {
#pragma unroll
  for (int step = 1; step <= 2; step <<= 1) {
    const bool upper = lane & step;
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int a = step == 1 ? 2 * pair : pair, b = a + step;
      Pair send = upper ? v[a] : v[b];
      if constexpr (sizeof(Pair) == 8) {
        send.x = __shfl_xor_sync(0xffffffffu, send.x, step);
        send.y = __shfl_xor_sync(0xffffffffu, send.y, step);
      } else {
        send = __shfl_xor_sync(0xffffffffu, send, step);
      }
      if (upper) v[a] = send;
      else v[b] = send;
    }
  }
}

}  // namespace vd::device
