// Eight consecutive elements of any float type, moved as 16-byte accesses.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "ptx/math.cuh"

namespace vd::device {

enum ElementType : int { kF32 = 0, kF16 = 1, kBf16 = 2, kI32 = 3, kU8 = 4, kI8 = 5, kF8E4M3 = 6 };

template <class T> struct ElementTypeOf;
template <> struct ElementTypeOf<float> {
  static constexpr int value = kF32;
};
template <> struct ElementTypeOf<__half> {
  static constexpr int value = kF16;
};
template <> struct ElementTypeOf<__nv_bfloat16> {
  static constexpr int value = kBf16;
};

__device__ __forceinline__ float to_float(float v) { return v; }
__device__ __forceinline__ float to_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <class T> __device__ __forceinline__ T from_float(float v);
template <> __device__ __forceinline__ float from_float<float>(float v) { return v; }
template <> __device__ __forceinline__ __half from_float<__half>(float v) { return __float2half_rn(v); }
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) { return __float2bfloat16_rn(v); }

/** Two floats as two packed 16-bit elements, the first in the low half. */
template <class T> __device__ __forceinline__ uint32_t pack2(float lo, float hi);
template <> __device__ __forceinline__ uint32_t pack2<__half>(float lo, float hi) {
  __half2 h = __floats2half2_rn(lo, hi);
  return *reinterpret_cast<uint32_t*>(&h);
}
template <> __device__ __forceinline__ uint32_t pack2<__nv_bfloat16>(float lo, float hi) {
  __nv_bfloat162 h = __floats2bfloat162_rn(lo, hi);
  return *reinterpret_cast<uint32_t*>(&h);
}
template <class T> __device__ __forceinline__ float2 unpack2(uint32_t v);
template <> __device__ __forceinline__ float2 unpack2<__half>(uint32_t v) { return __half22float2(*reinterpret_cast<__half2*>(&v)); }
template <> __device__ __forceinline__ float2 unpack2<__nv_bfloat16>(uint32_t v) {
  return __bfloat1622float2(*reinterpret_cast<__nv_bfloat162*>(&v));
}

template <class T> __device__ __forceinline__ void unpack8(uint4 q, float (&v)[8]) {
  const uint32_t w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float2 f = unpack2<T>(w[i]);
    v[2 * i] = f.x;
    v[2 * i + 1] = f.y;
  }
}
template <class T> __device__ __forceinline__ uint4 pack8(const float (&v)[8]) {
  return make_uint4(pack2<T>(v[0], v[1]), pack2<T>(v[2], v[3]), pack2<T>(v[4], v[5]), pack2<T>(v[6], v[7]));
}

/** Eight elements of a compile-time type from a 16-byte aligned address. */
template <class T> __device__ __forceinline__ void load8(const T* p, float (&v)[8]) { unpack8<T>(*reinterpret_cast<const uint4*>(p), v); }
template <> __device__ __forceinline__ void load8<float>(const float* p, float (&v)[8]) {
  float4 a = reinterpret_cast<const float4*>(p)[0], b = reinterpret_cast<const float4*>(p)[1];
  v[0] = a.x;
  v[1] = a.y;
  v[2] = a.z;
  v[3] = a.w;
  v[4] = b.x;
  v[5] = b.y;
  v[6] = b.z;
  v[7] = b.w;
}
/** The same through the read-only path, which may be reordered with stores: for operands this kernel never writes, or
 *  writes only after the same thread has read them. */
template <class T> __device__ __forceinline__ void load8_readonly(const T* p, float (&v)[8]) {
  unpack8<T>(__ldg(reinterpret_cast<const uint4*>(p)), v);
}
template <> __device__ __forceinline__ void load8_readonly<float>(const float* p, float (&v)[8]) {
  const float4 a = __ldg(reinterpret_cast<const float4*>(p)), b = __ldg(reinterpret_cast<const float4*>(p) + 1);
  v[0] = a.x;
  v[1] = a.y;
  v[2] = a.z;
  v[3] = a.w;
  v[4] = b.x;
  v[5] = b.y;
  v[6] = b.z;
  v[7] = b.w;
}
/** Eight elements as they lie in memory, to be unpacked when they are needed. */
template <class T> struct Raw8 {
  uint4 q[sizeof(T) / 2];
};
template <class T> __device__ __forceinline__ void load_raw8(const T* p, Raw8<T>& raw) {
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) raw.q[i] = __ldg(reinterpret_cast<const uint4*>(p) + i);
}
template <class T> __device__ __forceinline__ void unpack_raw8(const Raw8<T>& raw, float (&v)[8]) {
  if constexpr (sizeof(T) == 2) {
    unpack8<T>(raw.q[0], v);
  } else {
    const uint32_t w[8] = {raw.q[0].x, raw.q[0].y, raw.q[0].z, raw.q[0].w, raw.q[1].x, raw.q[1].y, raw.q[1].z, raw.q[1].w};
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = __uint_as_float(w[i]);
  }
}
template <class T> __device__ __forceinline__ void store8(T* p, const float (&v)[8]) { *reinterpret_cast<uint4*>(p) = pack8<T>(v); }
template <> __device__ __forceinline__ void store8<float>(float* p, const float (&v)[8]) {
  reinterpret_cast<float4*>(p)[0] = make_float4(v[0], v[1], v[2], v[3]);
  reinterpret_cast<float4*>(p)[1] = make_float4(v[4], v[5], v[6], v[7]);
}

/** Element `i` of an array whose type is known at run time (a uniform branch). */
__device__ __forceinline__ float load_any(const void* p, int type, int64_t i) {
  if (type == kF16) return __half2float(static_cast<const __half*>(p)[i]);
  if (type == kBf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]);
  return static_cast<const float*>(p)[i];
}
__device__ __forceinline__ void store_any(void* p, int type, int64_t i, float v) {
  if (type == kF16) static_cast<__half*>(p)[i] = __float2half_rn(v);
  else if (type == kBf16) static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16_rn(v);
  else static_cast<float*>(p)[i] = v;
}
/** Asks for the line of element `i` of an array that may be absent. */
__device__ __forceinline__ void prefetch_any(const void* p, int type, int64_t i) {
  if (p) ptx::prefetch_l2(static_cast<const uint8_t*>(p) + i * (type == kF32 ? 4 : 2));
}
__device__ __forceinline__ void load8_any(const void* p, int type, int64_t i, float (&v)[8]) {
  if (type == kF16) load8(static_cast<const __half*>(p) + i, v);
  else if (type == kBf16) load8(static_cast<const __nv_bfloat16*>(p) + i, v);
  else load8(static_cast<const float*>(p) + i, v);
}
__device__ __forceinline__ void store8_any(void* p, int type, int64_t i, const float (&v)[8]) {
  if (type == kF16) store8(static_cast<__half*>(p) + i, v);
  else if (type == kBf16) store8(static_cast<__nv_bfloat16*>(p) + i, v);
  else store8(static_cast<float*>(p) + i, v);
}

}  // namespace vd::device
